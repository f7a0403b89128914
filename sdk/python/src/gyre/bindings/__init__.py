"""componentize-py writes the bindings of the contract here, into a component alone."""
