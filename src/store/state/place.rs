//! Where the state is: in the hub, or in the repository where there is none; in a folder of the user where that is on a
//! network or cannot be written.

use std::path::{Path, PathBuf};

use crate::store::cache::cache_place::may_write;
use crate::store::membership::Membership;
use crate::store::session::Session;

/// Magic numbers of network file systems, from Linux `statfs(2)`: their locks do not hold between machines
/// in the way that `SQLite` needs, and the state is of one machine anyway.
const NETWORK_FILE_SYSTEMS: [u64; 9] = [
    0x6969,      // NFS
    0x517b,      // SMB
    0xfe53_4d42, // SMB2
    0xff53_4d42, // CIFS
    0x0102_1997, // 9p
    0x5346_414f, // AFS
    0x00c3_6400, // Ceph
    0x0bd0_0bd0, // Lustre
    0x7375_7245, // Coda
];

/// Returns the folder of the state. It need not exist.
pub fn folder(session: &Session) -> PathBuf {
    folder_of(session, session.membership.as_ref())
}

/// Returns the folder for a membership that was read later.
pub(super) fn folder_of(session: &Session, membership: Option<&Membership>) -> PathBuf {
    let home = home_of(session, membership);
    let own = home.join("colony/state");
    // One that is there is read, and a command that changes it says that it cannot.
    let is_elsewhere = is_on_network(&home) || (!own.exists() && !may_write(&own));
    let of_user = is_elsewhere.then(|| session.world.state_folder());
    choose(&home, of_user.flatten())
}

/// Returns the hub, or the repository where there is none.
pub(super) fn home(session: &Session) -> PathBuf {
    home_of(session, session.membership.as_ref())
}

fn home_of(session: &Session, membership: Option<&Membership>) -> PathBuf {
    let hub = membership.map(|member| member.hub.clone());
    hub.unwrap_or_else(|| session.repo.common_dir().to_owned())
}

/// Returns the folder for a hub or repository; `of_user` is given if it cannot be in there.
fn choose(home: &Path, of_user: Option<PathBuf>) -> PathBuf {
    match of_user {
        Some(folder) => {
            let digest = blake3::hash(home.as_os_str().as_encoded_bytes());
            folder.join("colonies").join(&digest.to_hex()[..16])
        }
        None => home.join("colony/state"),
    }
}

/// Returns `true` if a folder is on a file system that other machines share.
fn is_on_network(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|file_system| {
        // The type of the field depends on the platform; the numbers have 32 bits.
        let magic = u64::try_from(file_system.f_type).unwrap_or_default() & 0xffff_ffff;
        NETWORK_FILE_SYSTEMS.contains(&magic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_a_hub_on_a_network_goes_to_the_user() {
        let of_user = || Some(PathBuf::from("/state/git-colony"));
        let (hub, other) = (Path::new("/hubs/a.git"), Path::new("/hubs/b.git"));
        assert_eq!(choose(hub, None), hub.join("colony/state"));
        assert!(choose(hub, of_user()).starts_with("/state/git-colony/colonies"));
        assert_ne!(choose(hub, of_user()), choose(other, of_user()));
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_on_network(folder.path()));
    }
}
