//! Environment variables as a value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Environment variables. Copies share them until one of them is changed: a command passes its world on many times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(Arc<BTreeMap<OsString, OsString>>);

impl Variables {
    /// Removes those of these names that are set.
    pub fn forget(&mut self, names: &[&str]) {
        for name in names.iter().map(OsStr::new) {
            if self.contains_key(name) {
                self.remove(name);
            }
        }
    }
}

impl Deref for Variables {
    type Target = BTreeMap<OsString, OsString>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Variables {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl From<BTreeMap<OsString, OsString>> for Variables {
    fn from(variables: BTreeMap<OsString, OsString>) -> Self {
        Variables(Arc::new(variables))
    }
}
