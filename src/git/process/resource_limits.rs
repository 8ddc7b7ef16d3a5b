//! What a process may use: limits that the system holds it to, also when nobody is left who watches it.

/// What a process and each of those it starts may use, on Linux only.
#[derive(Clone, Copy, Debug)]
pub(in crate::git) struct Resources {
    /// Memory of its own; files that it maps are not counted.
    pub(in crate::git) memory_bytes: u64,
    /// Time on the processor.
    pub(in crate::git) processor_seconds: u64,
}

#[cfg(target_os = "linux")]
impl Resources {
    /// Limits a process that has just been started; one that is gone already needs no limit.
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

/// Limits the address space of a process, which is all it can reach, and has it leave no core.
#[cfg(target_os = "linux")]
pub(in crate::git) fn limit_address_space(id: u32, bytes: u64) {
    use rustix::process::Resource;
    set(id, Resource::As, bytes);
    set(id, Resource::Core, 0);
}

#[cfg(not(target_os = "linux"))]
pub(in crate::git) fn limit_address_space(_: u32, _: u64) {}

/// Lowers a limit of a process; one that is lower already stays.
#[cfg(target_os = "linux")]
fn set(id: u32, resource: rustix::process::Resource, most: u64) {
    use rustix::process::{Pid, Rlimit, getrlimit, prlimit};
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    // What it has inherited is ours.
    let ours = getrlimit(resource);
    let lower = |ours: Option<u64>| Some(ours.map_or(most, |ours| ours.min(most)));
    let both = Rlimit {
        current: lower(ours.current),
        maximum: lower(ours.maximum),
    };
    // One that has ended already needs no limit.
    prlimit(pid, resource, both).ok();
}
