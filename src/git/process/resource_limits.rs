//! Resource limits of a process, enforced by the system even if no process watches it any more.

/// The resources that a process and each of its children may use, on Linux only.
#[derive(Clone, Copy, Debug)]
pub(in crate::git) struct Resources {
    /// Memory of its own, without mapped files.
    pub(in crate::git) memory_bytes: u64,
    /// Processor time.
    pub(in crate::git) processor_seconds: u64,
}

#[cfg(target_os = "linux")]
impl Resources {
    /// Limits a process that was just started; it may be gone already.
    pub(in crate::git) fn impose(self, id: u32) {
        use rustix::process::Resource;
        set(id, Resource::Data, self.memory_bytes);
        set(id, Resource::Cpu, self.processor_seconds);
        set(id, Resource::Core, 0);
    }
}

#[cfg(not(target_os = "linux"))]
impl Resources {
    pub(in crate::git) fn impose(self, _: u32) {}
}

/// Limits the address space of a process and prevents core dumps.
#[cfg(target_os = "linux")]
pub(in crate::git) fn limit_address_space(id: u32, bytes: u64) {
    use rustix::process::Resource;
    set(id, Resource::As, bytes);
    set(id, Resource::Core, 0);
}

#[cfg(not(target_os = "linux"))]
pub(in crate::git) fn limit_address_space(_: u32, _: u64) {}

/// Lowers a limit of a process; a lower limit stays.
#[cfg(target_os = "linux")]
fn set(id: u32, resource: rustix::process::Resource, most: u64) {
    use rustix::process::{Pid, Rlimit, getrlimit, prlimit};
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    // The child inherited the limits of this process.
    let ours = getrlimit(resource);
    let lower = |ours: Option<u64>| Some(ours.map_or(most, |ours| ours.min(most)));
    let both = Rlimit { current: lower(ours.current), maximum: lower(ours.maximum) };
    // The process may have ended already.
    prlimit(pid, resource, both).ok();
}
