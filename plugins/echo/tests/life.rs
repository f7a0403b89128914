//! The life of an Echo with the host and the Job controller.

use echo::EchoReconciler;
use gyre_test::{Plugin, Result, World, assert_yaml_eq, assert_yaml_includes};
use serde_json::json;

#[test]
fn a_message_is_written_once_and_another_one_when_the_old_job_is_gone() -> Result {
    let mut world = World::of(Plugin::native::<EchoReconciler>()).file("samples/echo.yaml").start()?;
    let created = world.settle()?;
    created.assert_plan(
        "create Job default/hello
         status Echo default/hello
         event Echo default/hello: Normal JobCreated: Job hello runs the message",
    );
    assert_yaml_includes!(created.condition("Echo hello", "Ready")?, "{status: 'True', reason: JobCreated}");
    assert_yaml_includes!(created.condition("Echo hello", "Complete")?, "{status: 'False', reason: JobNotFinished}");

    world.finish_job("Job hello")?;
    let finished = world.settle()?;
    assert_yaml_includes!(finished.condition("Echo hello", "Ready")?, "{status: 'True', reason: JobComplete}");
    assert_yaml_includes!(finished.condition("Echo hello", "Complete")?, "{status: 'True', reason: JobComplete}");
    assert_eq!(finished.events()[0].message, "Job hello ran the message");

    world.edit("Echo hello", |echo| echo["spec"]["message"] = json!("Good-bye!"))?;
    let outdated = world.settle()?;
    assert!(outdated.children().is_empty(), "a Job that exists is not touched: {outdated:?}");
    assert_yaml_includes!(outdated.condition("Echo hello", "Complete")?, "{status: 'False', reason: JobOutdated}");

    world.delete("Job hello")?;
    let again = world.settle()?;
    let container = &again.children()[0]["spec"]["template"]["spec"]["containers"][0];
    assert_yaml_eq!(container["command"], "[echo, Good-bye!]");

    world.finish_job("Job hello")?;
    world.settle()?;
    world.delete("Echo hello")?;
    world.settle()?.assert_nothing_done();
    assert_eq!((world.find("Echo hello")?, world.find("Job hello")?), (None, None));
    Ok(())
}
