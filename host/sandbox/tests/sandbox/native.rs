//! Native plugins obey the same rules as components.

use std::time::{Duration, SystemTime};

use gyre_core::response::{Failure, Response};
use gyre_sandbox::call::Error;
use gyre_sandbox::native::{Imports, Native, types};
use gyre_sandbox::{Call, ClockUse, Fault, Input, Limits, LogLevel, Plugin, ReadError, load, settings};

use crate::stage::{self, Small};

const CONFIG_MAP: [&str; 3] = ["", "v1", "ConfigMap"];

fn kind([group, version, kind]: [&str; 3]) -> types::GroupVersionKind {
    types::GroupVersionKind { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
}

fn core_kind([group, version, kind]: [&str; 3]) -> gyre_core::object::GroupVersionKind {
    gyre_core::object::GroupVersionKind::new(group, version, kind)
}

type Answer = Result<types::Response, types::Failure>;

struct Code<F>(F);

impl<F: Fn(&Imports) -> Answer + Send + Sync + 'static> Native for Code<F> {
    fn describe(&self) -> types::Manifest {
        types::Manifest {
            reads: vec![types::ReadKind {
                kind: kind(CONFIG_MAP),
                namespace: None,
                label_selector: None,
                metadata_only: false,
            }],
            ..types::Manifest::new("code", kind(["example.com", "v1", "Thing"]))
        }
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<(), String> {
        if settings == b"{}" { Ok(()) } else { Err("not these".to_owned()) }
    }

    fn reconcile(&self, _: types::Request<'_>, imports: &Imports) -> Answer {
        (self.0)(imports)
    }

    fn finalize(&self, _: types::Request<'_>, imports: &Imports) -> Result<types::Teardown, types::Failure> {
        (self.0)(imports).map(|response| types::Teardown { response, done: true })
    }
}

fn empty() -> types::Response {
    types::Response::default()
}

fn called(limits: &Limits, code: impl Fn(&Imports) -> Answer + Send + Sync + 'static) -> Call<Response> {
    stage::reconcile(&Plugin::native("code", Code(code)).unwrap(), limits)
}

#[test]
fn reads_logs_and_use_of_the_clock_are_recorded() {
    let call = called(&stage::limits(), |imports| {
        assert_eq!(imports.get(&core_kind(CONFIG_MAP), None, "a"), Ok(None));
        assert_eq!(imports.children(&core_kind(CONFIG_MAP)), Err(ReadError::NotDeclared));
        assert_eq!(imports.list(&core_kind(["", "v1", "Secret"]), None, None), Err(ReadError::NotDeclared));
        imports.log(LogLevel::Info, "hello".to_owned(), Vec::new());
        let since_1970 = imports.now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Ok(types::Response { status: Some(format!(r#"{{"at":{}}}"#, since_1970.as_secs()).into_bytes()), ..empty() })
    });
    assert_eq!(call.result.unwrap().status.unwrap()["at"], 1_700_000_000);
    assert_eq!((call.usage.clock, call.usage.log_lines, call.usage.output_bytes), (ClockUse::Read, 1, 17));
    assert_eq!(call.usage.undeclared_read, Some(core_kind(CONFIG_MAP)));
    let imports = call.imports.downcast::<Small>().unwrap_or_default();
    assert_eq!((imports.lines[0].message.as_str(), imports.texts.len()), ("hello", 1));
}

#[test]
fn its_answers_are_held_to_the_limits() {
    let limits = Limits { output_bytes: 64, output_depth: 3, events: 1, reads: 1, log_lines: 1, ..stage::limits() };
    let check = |reason: Option<&str>, code: fn(&Imports) -> Answer| {
        let error = called(&limits, code).result.err();
        assert_eq!(error.as_ref().map(Error::reason), reason, "{error:?}");
    };
    check(None, |_| Ok(empty()));
    check(Some("InvalidOutput"), |_| Ok(types::Response { status: Some(b"[]".to_vec()), ..empty() }));
    check(Some("OutputTooDeep"), |_| Ok(types::Response { status: Some(br#"{"a":{"b":[{}]}}"#.to_vec()), ..empty() }));
    check(Some("OutputTooLarge"), |_| Ok(types::Response { status: Some(vec![b' '; 65]), ..empty() }));
    check(Some("TooManyEvents"), |_| {
        let event = || types::Event { severity: types::Severity::Normal, reason: String::new(), message: String::new() };
        Ok(types::Response { events: vec![event(), event()], ..empty() })
    });
    check(Some("TooManyReads"), |imports| {
        let kind = core_kind(CONFIG_MAP);
        Ok([(); 2].iter().fold(empty(), |empty, ()| imports.list(&kind, None, None).map(|_| empty).unwrap()))
    });
    check(Some("LogFlood"), |imports| {
        [(); 2].iter().for_each(|()| imports.log(LogLevel::Info, String::new(), Vec::new()));
        Ok(empty())
    });
    check(Some("TransientFailure"), |_| Err(types::Failure::Transient("later".to_owned())));
}

const MEBIBYTE: usize = 1 << 20;

fn asked(limits: &Limits, ask: impl Fn(&Imports) + Send + Sync + 'static) -> Result<Response, Error> {
    let plugin = Plugin::native(
        "code",
        Code(move |imports: &Imports| -> Answer {
            ask(imports);
            Ok(empty())
        }),
    );
    let imports = Box::new(Small { object: Some("{}"), ..Small::default() });
    stage::reconcile_in(&plugin.unwrap(), limits, imports).result
}

#[test]
fn a_name_that_no_object_can_have_is_answered_without_asking() {
    let answered = asked(&stage::limits(), |imports| {
        let kind = core_kind(CONFIG_MAP);
        let get = |namespace: Option<&str>, name: &str| imports.get(&kind, namespace, name).map(|found| found.is_some());
        let long = "a".repeat(10 * MEBIBYTE);
        for name in [long.as_str(), "", "..", "a/b", "a%2fb"] {
            assert_eq!(get(None, name), Ok(false));
        }
        for namespace in [long.as_str(), "A", "a.b", "../secrets"] {
            assert_eq!(get(Some(namespace), "a"), Ok(false));
            assert_eq!(imports.list(&kind, Some(namespace), None), Ok(Vec::new()));
        }
        assert_eq!([get(None, "a"), get(Some("b"), "kube:a"), get(Some(""), "a")], [Ok(true), Ok(true), Ok(true)]);
        assert_eq!(imports.list(&kind, Some("b"), Some("app=web")).map(|found| found.len()), Ok(1));
        let selector = format!("app={}", "a".repeat(MEBIBYTE));
        let told = imports.list(&kind, None, Some(&selector));
        assert_eq!(told, Err(ReadError::InvalidSelector("it has 1048580 bytes, more than 4096".to_owned())));
        // The name of an undeclared kind is kept.
        let undeclared = core_kind(["", "v1", long.as_str()]);
        assert_eq!(imports.get(&undeclared, None, "a"), Err(ReadError::NotDeclared));
    });
    assert_eq!(answered.map(|_| ()), Ok(()));
    let call = called(&stage::limits(), |imports| {
        let undeclared = core_kind(["", "v1", "a".repeat(MEBIBYTE).as_str()]);
        assert_eq!(imports.get(&undeclared, None, "a"), Err(ReadError::NotDeclared));
        Ok(empty())
    });
    assert_eq!(call.usage.undeclared_read.unwrap().kind.len(), 253);
}

#[test]
fn the_questions_of_reads_are_bounded_in_bytes() {
    let limits = Limits { read_bytes: 1_000, ..stage::limits() };
    let check = |ends: Result<(), Error>, ask: fn(&Imports)| assert_eq!(asked(&limits, ask).map(|_| ()), ends);
    let too_large = || Err(Error::ReadsTooLarge { limit: 1_000 });
    // The kind takes 11 bytes: `v1` and `ConfigMap`.
    check(Ok(()), |imports| {
        let _ = (0..9).map(|_| imports.get(&core_kind(CONFIG_MAP), Some("b"), &"a".repeat(99))).collect::<Vec<_>>();
    });
    check(too_large(), |imports| {
        let _ = (0..10).map(|_| imports.get(&core_kind(CONFIG_MAP), Some("b"), &"a".repeat(99))).collect::<Vec<_>>();
    });
    // A requirement takes more memory than its text.
    check(Ok(()), |imports| drop(imports.list(&core_kind(CONFIG_MAP), None, Some("a,a,a,a,a,a"))));
    check(too_large(), |imports| drop(imports.list(&core_kind(CONFIG_MAP), None, Some("a,a,a,a,a,a,a,a"))));
}

#[test]
fn the_texts_of_an_answer_are_cut_and_so_is_their_sum() {
    let message = || "ü".repeat(MEBIBYTE / 16);
    let answer = move || types::Response {
        conditions: (0..8)
            .map(|number| types::Condition {
                type_: format!("Type{number}"),
                status: types::Truth::Yes,
                reason: message(),
                message: message(),
            })
            .collect(),
        events: (0..8)
            .map(|_| types::Event { severity: types::Severity::Normal, reason: "Short".to_owned(), message: message() })
            .collect(),
        ..empty()
    };
    let limits = Limits { text_bytes: 40 << 10, ..stage::limits() };
    let response = called(&limits, move |_| Ok(answer())).result.unwrap();
    let conditions = response.conditions.iter().flat_map(|condition| [&condition.kind, &condition.reason, &condition.message]);
    let texts: Vec<&String> =
        conditions.chain(response.events.iter().flat_map(|event| [&event.reason, &event.message])).collect();
    let total: usize = texts.iter().map(|text| text.len()).sum();
    assert!(total <= limits.text_bytes && total > limits.text_bytes - 16, "{total}");
    assert!(texts.iter().all(|text| text.len() <= 4_096));
    let first = &response.conditions[0];
    assert!(first.kind == "Type0" && first.message.ends_with('…') && first.message.len() > 4_090, "{}", first.message.len());

    let failures: [fn(String) -> types::Failure; 3] = [
        types::Failure::Transient,
        |message| types::Failure::RetryAfter(types::RetryAfter { delay_ms: 1, message }),
        types::Failure::Terminal,
    ];
    for failure in failures {
        let error = called(&stage::limits(), move |_| Err(failure("x".repeat(8 * MEBIBYTE)))).result.unwrap_err();
        assert_eq!(error.to_string().len(), 4_096);
    }
    let loud = Plugin::native("code", Code(|_: &Imports| -> Answer { panic!("{}", "x".repeat(MEBIBYTE)) })).unwrap();
    assert!(stage::reconcile(&loud, &stage::limits()).result.unwrap_err().to_string().len() < 2_048);
}

/// Each change of one of its members would call the plugin about all.
#[test]
fn a_group_of_50_000_members_of_4_kib_is_not_called() {
    let plugin = Plugin::native("code", Code(|_: &Imports| -> Answer { Ok(empty()) })).unwrap();
    let member = [b' '; 4 << 10];
    let called_about = |count: usize| {
        let members = vec![member.as_slice(); count];
        let input = Input { parent: b"{}", members: &members, settings: b"{}", seed: "", now: SystemTime::UNIX_EPOCH };
        plugin.reconcile(&input, &stage::limits(), Box::new(Small::default())).result.map(|_| ())
    };
    let limit = stage::limits().memory_bytes;
    let error = Error::GroupTooLarge { members: 50_000, bytes: 50_000 * member.len(), limit };
    assert_eq!((error.reason(), error.fault()), ("GroupTooLarge", Fault::Host));
    assert_eq!(called_about(50_000), Err(error));
    // A quarter of the memory of a call is for members.
    let most = limit / 4 / member.len();
    assert_eq!(called_about(most), Ok(()));
    assert!(called_about(most + 1).is_err());
}

#[test]
fn a_panic_is_a_trap_and_affects_nothing_else() {
    let plugin = Plugin::native("code", Code(|_: &Imports| -> Answer { panic!("no {}", 1) })).unwrap();
    for _ in 0..2 {
        let Err(Error::Trapped { message, .. }) = stage::reconcile(&plugin, &stage::limits()).result else { panic!("no trap") };
        assert_eq!(message, "it panicked: no 1");
    }
}

#[test]
fn its_failures_are_its_own_and_its_settings_are_checked() {
    let again = |_: &Imports| Err(types::Failure::RetryAfter(types::RetryAfter { delay_ms: 7, message: "busy".to_owned() }));
    let plugin = Plugin::native("code", Code(again)).unwrap();
    let failure = Failure::RetryAfter { message: "busy".to_owned(), after: Duration::from_millis(7) };
    assert_eq!(stage::reconcile(&plugin, &stage::limits()).result, Err(Error::Failed(failure)));
    assert_eq!(plugin.validate_settings(b"{}", &stage::limits()), Ok(()));
    assert_eq!(plugin.validate_settings(b"[]", &stage::limits()), Err(settings::Error::Rejected("not these".to_owned())));
}

#[test]
fn versions_are_distinguished_by_their_identity_and_an_invalid_manifest_is_refused() {
    let code = |identity| Plugin::native(identity, Code(|_: &Imports| Ok(empty()))).unwrap();
    assert_eq!(code("one").digest(), code("one").digest());
    assert_ne!(code("one").digest(), code("two").digest());

    struct Nameless;
    impl Native for Nameless {
        fn describe(&self) -> types::Manifest {
            types::Manifest { name: "No Label".to_owned(), ..Code(|_: &Imports| Ok(empty())).describe() }
        }

        fn validate_settings(&self, _: &[u8]) -> Result<(), String> {
            Ok(())
        }

        fn reconcile(&self, _: types::Request<'_>, _: &Imports) -> Answer {
            Ok(empty())
        }

        fn finalize(&self, _: types::Request<'_>, _: &Imports) -> Result<types::Teardown, types::Failure> {
            Ok(types::Teardown { response: empty(), done: true })
        }
    }
    assert!(matches!(Plugin::native("nameless", Nameless).err(), Some(load::Error::Manifest(_))));
}
