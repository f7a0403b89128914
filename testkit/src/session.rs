//! A lane of the program, and the plugins that it may call.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::native;
use crate::plugin::Plugin;
use crate::program::Lane;

/// Requests of one world, or of an assertion.
pub(crate) struct Session {
    lane: Rc<Lane>,
    plugins: RefCell<Vec<Plugin>>,
}

impl Session {
    pub(crate) fn open() -> Result<Self> {
        Ok(Self { lane: Rc::new(Lane::open()?), plugins: RefCell::default() })
    }

    /// Allows the program to call a plugin.
    pub(crate) fn add(&self, plugin: &Plugin) {
        self.plugins.borrow_mut().push(plugin.clone());
    }

    /// Sends a request, runs the native plugins that the program calls, and returns the answer.
    pub(crate) fn ask(&self, request: &Value) -> Result<Value> {
        self.lane.ask(request, |call| {
            let number = call.get("plugin").and_then(Value::as_u64);
            let plugin = self.plugins.borrow().iter().find(|plugin| Some(plugin.number()) == number).cloned();
            let code = plugin.and_then(|plugin| plugin.code());
            let code = code.ok_or_else(|| Error::new(format!("gyre calls a plugin that is not in this world: {call}")))?;
            Ok(native::serve(&code, call, &self.lane))
        })
    }
}
