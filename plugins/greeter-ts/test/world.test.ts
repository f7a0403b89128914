import { test } from "node:test";
import { days } from "@gyre/sdk";
import { World } from "@gyre/sdk/testing";
import plugin, { Greeting } from "../src/plugin.ts";

const greeting = Greeting({ metadata: { name: "hello", namespace: "default" }, spec: { message: "Hello, world!" } });

test("changes to the ConfigMap are reverted, and nothing is left to do", () => {
  const world = new World({ plugin, objects: [greeting] });
  world.settle().assertPlan(
    "create ConfigMap default/hello",
    "status Greeting default/hello",
    "event Greeting default/hello: Normal Written: ConfigMap hello holds the message",
  );
  world.edit("ConfigMap default/hello", (configMap) => {
    configMap.data.message = "Buy now!";
  });
  world.settle().assertPlan("update ConfigMap default/hello");
  world.advance(days(1));
  world.settle().assertNothingDone();
});
