import assert from "node:assert/strict";
import { test } from "node:test";
import { dnsLabel, fingerprint, serviceLabel } from "@gyre/sdk";

test("fingerprints and labels are those of the other languages", () => {
  assert.equal(fingerprint("index.html", "Good day."), "7p6zycpx6db4p");
  assert.notEqual(fingerprint("index.html", "Good day."), fingerprint("index.htmlGood ", "day."));
  assert.equal(dnsLabel("hello"), "hello");
  assert.equal(dnsLabel("hello.world"), "hello-world-53hocbaalbhrb");
});

const NAMES = ["", "...", "2026", "3.4", "a", "UPPER.case", "ümlaut", "😀.example", "a".repeat(63), "b-".repeat(60), "x".repeat(253)];

test("every name becomes a label within the limit", () => {
  for (const name of NAMES) {
    for (const limit of [0, 15, 52, 63, 99]) {
      const label = dnsLabel(name, limit);
      assert.match(label, /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
      assert.ok(label.length <= Math.min(Math.max(limit, 15), 63), label);
    }
    const label = serviceLabel(name);
    assert.match(label, /^[a-z]([a-z0-9-]*[a-z0-9])?$/);
    assert.ok(label.length <= 63, label);
  }
  assert.equal(new Set(NAMES.map((name) => dnsLabel(name))).size, NAMES.length);
  assert.equal(new Set(NAMES.map(serviceLabel)).size, NAMES.length);
});
