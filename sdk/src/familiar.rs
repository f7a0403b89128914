//! Names of other frameworks. Each does what is meant, and the compiler's warning says how it is
//! called here.

use crate::cluster::Cluster;
use crate::host::Error;
use crate::manifest::{Manifest, Strategy};
use crate::plan::{Child, Plan};
use crate::resource::Resource;

impl Cluster {
    #[doc(hidden)]
    #[deprecated(note = "write `get`, which returns `None` if there is no such object")]
    pub fn get_opt<T: Resource>(&self, name: &str) -> Result<Option<T>, Error> {
        self.get(name)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `child`")]
    pub fn get_child<T: Resource>(&self, name: &str) -> Result<Option<T>, Error> {
        self.child(name)
    }
}

impl Manifest {
    #[doc(hidden)]
    #[deprecated(note = "write `child`")]
    pub fn owns<T: Resource>(self, strategy: Strategy) -> Self {
        self.child::<T>(strategy)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `read`: what was read is watched")]
    pub fn watches<T: Resource>(self) -> Self {
        self.read::<T>()
    }

    #[doc(hidden)]
    #[deprecated(note = "write `read`")]
    pub fn reads<T: Resource>(self) -> Self {
        self.read::<T>()
    }
}

impl Plan {
    #[doc(hidden)]
    #[deprecated(note = "write `apply`")]
    pub fn child(self, child: impl Into<Child>) -> Self {
        self.apply(child)
    }

    #[doc(hidden)]
    #[deprecated(note = "write `requeue_after`")]
    pub fn requeue(self, delay: std::time::Duration) -> Self {
        self.requeue_after(delay)
    }
}
