//! Taking part in a colony: what was changed here is published, what others published is gathered.

use crate::clones::{gather, publish};
use crate::git::ObjectWrites;
use crate::model::World;
use crate::store::Session;
use crate::store::settings::Flags;

/// Brings over what others have published. What stands in the way is said, and stops nothing: the
/// answer is then about what was known before.
pub fn gather(session: &Session) {
    if session.membership.is_none() {
        return;
    }
    if let Err(error) = gather::gather(session) {
        (session.world.narrate)(&format!(
            "warning: cannot see what others have published: {}",
            error.message()
        ));
    }
}

/// Publishes what a command has changed, in the repository it has changed. What stands in the way is
/// said, and stops nothing: the next command publishes it too.
pub fn publish_changes(world: &World) {
    let Some(workdir) = world.changes.workdir() else {
        return;
    };
    let session = Session::open(
        world.standing_in(&workdir),
        &Flags::default(),
        ObjectWrites::Durable,
    );
    publish(
        world,
        session.and_then(|session| publish::publish(&session)),
    );
}

/// Publishes what plain git has changed.
pub fn publish_session(session: &Session) {
    publish(&session.world, publish::publish(session));
}

fn publish(world: &World, published: crate::model::Result<usize>) {
    if let Err(error) = published {
        (world.narrate)(&format!(
            "warning: cannot publish to the hub: {}",
            error.message()
        ));
    }
}
