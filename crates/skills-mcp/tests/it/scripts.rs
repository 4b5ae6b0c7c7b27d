//! `run_script` as agents use it: the promises SCRIPT-1 to SCRIPT-13, and the attacks of the security review by
//! their ids (X-01 …); what the sandbox holds is in `sandbox.rs`.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skills_testkit::{Client, Home, PROMPT_TIMEOUT, wait_until};

use crate::{
    support::{after, run as finished},
    workshop::{MARK, WORST, Workshop, mark, marked, refused, run},
};

fn plain(text: &str) -> Workshop {
    Workshop::new().script("scripts/x.sh", "", text)
}

/// The answer to a script that writes this and then runs until its timeout, and the timeout in seconds. Beside other work a
/// script may not come so far in a second: then it is run again with a longer timeout.
fn timed_out(shop: Workshop, stdout: &str) -> (Value, u64) {
    let mut shop = shop;
    let mut seconds = 1;
    loop {
        shop = shop.set(&format!("scripts.timeout_seconds={seconds}"));
        let answer = shop.run("scripts/x.sh");
        if answer.get("stdout") == Some(&json!(stdout)) || seconds > 60 {
            return (answer, seconds);
        }
        seconds *= 4;
    }
}

fn request(file: &str, args: &Value) -> Value {
    json!({"skill_path": "tool", "file": file, "args": args})
}

// What a run is given and gives.

#[test]
fn script_7_a_server_script_runs_and_its_result_has_these_fields() {
    let started = Instant::now();
    let answer = plain("sleep 0.1; echo Auth config is valid\n").run("scripts/x.sh");
    let mut answer = answer.as_object().unwrap().clone();
    let took = Duration::from_millis(answer.remove("duration_ms").unwrap().as_u64().unwrap());
    assert!(took >= Duration::from_millis(100) && took <= started.elapsed(), "{took:?}");
    assert!(!answer.remove("sandbox").unwrap().as_str().unwrap().is_empty());
    assert_eq!(
        Value::Object(answer),
        json!({"success": true, "exit_code": 0, "stdout": "Auth config is valid\n", "stderr": "", "script": "scripts/x.sh"})
    );
}

#[test]
fn script_3_a_script_that_is_claudes_to_run_is_refused() {
    let shop = plain("echo no\n");
    shop.home.write("skills/tool.md", "---\nkeywords: [t]\ndescription: d\nscripts:\n  - {file: scripts/x.sh, description: d}\n---\n");
    let message = refused(&mut shop.client(), &request("scripts/x.sh", &json!({})));
    assert_eq!(
        message,
        "Script 'scripts/x.sh' is declared with execution: claude, so run_script does not run it. Fetch it with get_asset \
         and run it yourself with bash."
    );
}

// SCRIPT-7
#[test]
fn script_5_arguments_are_passed_as_variables_and_both_streams_captured() {
    let shop = Workshop::new().script(
        "scripts/x.sh",
        "args:\n  - {name: config_path, description: c}\n  - {name: mode, description: m, required: false, default: fast}\n  - {name: left-out, description: l, required: false}",
        "echo \"$SKILL_ARG_CONFIG_PATH $SKILL_ARG_MODE ${SKILL_ARG_LEFT_OUT-unset} $#\"; echo oops >&2; exit 3\n",
    );
    let answer =
        run(&mut shop.client(), "scripts/x.sh", &json!({"config_path": "./src/config.ts"}));
    assert_eq!(answer["stdout"], "./src/config.ts fast unset 0\n");
    assert_eq!(
        (&answer["stderr"], &answer["exit_code"], &answer["success"]),
        (&json!("oops\n"), &json!(3), &json!(false))
    );
}

#[test]
fn script_8_the_timeout_is_respected_and_said() {
    let shop = plain("echo half >&2; echo partial; sleep 300\n").set("scripts.grace_seconds=1");
    let (answer, seconds) = timed_out(shop, "partial\n");
    assert_eq!((&answer["success"], &answer["exit_code"]), (&json!(false), &json!(137)));
    assert_eq!(answer["stdout"], "partial\n");
    assert_eq!(answer["stderr"], "half\n[skills-mcp] Script killed: timeout exceeded.");
    assert!(answer["duration_ms"].as_u64().unwrap() >= seconds * 1000, "{answer}");
}

#[test]
fn script_3_required_arguments_are_checked_before_a_run() {
    let shop = Workshop::new().script(
        "scripts/x.sh",
        "args:\n  - {name: config_path, description: Path of the configuration}\n  - {name: out, description: Where to write}",
        "echo ran > marker\n",
    );
    let message = refused(&mut shop.client(), &request("scripts/x.sh", &json!({})));
    assert_eq!(
        message,
        "Script 'scripts/x.sh' was not run: it needs the arguments 'config_path' (Path of the configuration), 'out' (Where to \
         write). Call again with them in args."
    );
    assert!(!shop.project().join("marker").exists());
}

// What is refused or ended.

#[test]
fn script_8_a_script_that_times_out_is_killed_and_what_it_said_is_returned() {
    let shop = plain("echo first; echo second; sleep 300\n").set("scripts.grace_seconds=0");
    let (answer, _) = timed_out(shop, "first\nsecond\n");
    assert_eq!((&answer["stdout"], &answer["success"]), (&json!("first\nsecond\n"), &json!(false)));
    assert_eq!(answer["stderr"], "[skills-mcp] Script killed: timeout exceeded.");
}

#[test]
fn script_2_a_path_that_leads_out_is_rejected_at_once() {
    let shop = plain("echo no\n");
    let mut client = shop.client();
    for file in ["../x.sh", "scripts/../../x.sh", "/etc/passwd", "~/x.sh", "scripts\\x.sh", ""] {
        let message = refused(&mut client, &request(file, &json!({})));
        assert!(message.starts_with("Path traversal refused for"), "{file}: {message}");
    }
}

#[test]
fn script_4_scripts_that_are_switched_off_do_not_run() {
    let shop = plain("echo ran > marker\n");
    shop.home.write("skills/config.yaml", "scripts:\n  enabled: false\n");
    let message = refused(&mut shop.client(), &request("scripts/x.sh", &json!({})));
    assert!(message.starts_with("Scripts are disabled on this server"), "{message}");
    assert!(message.contains("config.yaml:2") && message.contains("get_asset"), "{message}");
    assert!(!shop.project().join("marker").exists());
}

#[test]
fn script_3_an_extension_that_is_not_supported_is_refused_with_those_that_are() {
    let shop = Workshop::new().script("scripts/x.rb", "", "puts 1\n").script("scripts/x", "", "x");
    let mut client = shop.client();
    let message = refused(&mut client, &request("scripts/x.rb", &json!({})));
    assert!(
        message.contains("has the extension .rb")
            && message.contains("Allowed: .sh, .ts, .js, .py."),
        "{message}"
    );
    let message = refused(&mut client, &request("scripts/x", &json!({})));
    assert!(message.contains("has no extension"), "{message}");
}

#[test]
fn script_2_a_script_that_is_not_declared_is_not_there() {
    let shop = plain("echo yes\n");
    shop.home.write("skills/tool/scripts/other.sh", "echo no\n");
    let message = refused(&mut shop.client(), &request("scripts/other.sh", &json!({})));
    assert_eq!(
        message,
        "Script 'scripts/other.sh' not found for skill 'tool'. Its scripts: scripts/x.sh."
    );
}

// The ladder.

#[test]
fn script_2_every_rung_has_its_own_refusal_and_they_come_in_order() {
    let shop = Workshop::new()
        .script("scripts/a.rb", "args: [{name: need, description: n}]", "x")
        .script("scripts/gone.sh", "", "x")
        .script("scripts/lua.lua", "", "x")
        .script("scripts/py.py", "", "x")
        .script("elsewhere/x.sh", "", "x")
        .set("scripts.allowed_extensions=[.sh, .lua, .py]")
        .set("scripts.runners={.py: no-such-python}");
    fs::remove_file(shop.home.path().join("skills/tool/scripts/gone.sh")).unwrap();
    let mut client = shop.client();
    let mut ask = |skill: &str, file: &str, args: Value| {
        refused(&mut client, &json!({"skill_path": skill, "file": file, "args": args}))
    };
    for (said, message) in [
        ("Skill 'tol' not found. Did you mean: tool?", ask("tol", "../x", json!({}))),
        ("Path traversal refused for '../x'", ask("tool", "../x", json!({}))),
        ("Path traversal refused for '/etc/passwd'", ask("tool", "/etc/passwd", json!({}))),
        (
            "Script 'scripts/none.sh' not found for skill 'tool'. Its scripts: scripts/a.rb",
            ask("tool", "scripts/none.sh", json!({})),
        ),
        ("lies outside the scripts/ folder of 'tool'", ask("tool", "elsewhere/x.sh", json!({}))),
        ("it needs the argument 'need' (n)", ask("tool", "scripts/a.rb", json!({"other": "1"}))),
        (
            "declares no argument 'other'; it takes need",
            ask("tool", "scripts/a.rb", json!({"need": "1", "other": "1"})),
        ),
        (
            "has the extension .rb, which this server does not run. Allowed: .sh, .lua, .py.",
            ask("tool", "scripts/a.rb", json!({"need": "1"})),
        ),
        ("is declared by 'tool' but missing on disk", ask("tool", "scripts/gone.sh", json!({}))),
        ("There is no runner for .lua scripts", ask("tool", "scripts/lua.lua", json!({}))),
        (
            "the runner of .py scripts, no-such-python, is not installed",
            ask("tool", "scripts/py.py", json!({})),
        ),
    ] {
        assert!(message.contains(said), "{said}: {message}");
    }
    let off = plain("x").set("scripts.enabled=false");
    let message =
        refused(&mut off.client(), &json!({"skill_path": "unknown", "file": "../x", "args": {}}));
    assert!(
        message.starts_with(
            "Scripts are disabled on this server (scripts.enabled was set to false by --set)"
        ),
        "{message}"
    );
}

// SCRIPT-7
#[test]
fn an_inherited_script_runs_with_its_own_assets_and_says_whose_it_is() {
    let home = Home::with(
        "//- ui/_index.md\n---\nkeywords: [ui]\ndescription: d\nscripts:\n  - {file: scripts/list.sh, description: d, execution: server}\n---\n\
         //- ui/_index/scripts/list.sh\ncat \"$(dirname \"$0\")/../assets/a.txt\"; . \"$(dirname \"$0\")/lib.sh\"\n\
         //- ui/_index/scripts/lib.sh\necho sourced\n//- ui/_index/assets/a.txt\nan asset\n\
         //- ui/leaf.md\n---\nkeywords: [leaf]\ndescription: d\n---\n//- ui/alone.md\n---\nkeywords: [alone]\ndescription: d\ninherit: false\n---\n",
    );
    let mut client = crate::support::client(&home);
    let ask = |skill: &str| json!({"skill_path": skill, "file": "scripts/list.sh", "args": {}});
    let answer = client.call("run_script", &ask("ui/leaf")).json;
    assert_eq!(
        (&answer["from"], &answer["stdout"]),
        (&json!("ui/_index"), &json!("an asset\nsourced\n")),
        "{answer}"
    );
    assert!(client.call("run_script", &ask("ui/_index")).json.get("from").is_none());
    let message = refused(&mut client, &ask("ui/alone"));
    assert!(
        message.contains("not found for skill 'ui/alone'. It declares no scripts."),
        "{message}"
    );
}

// LAYOUT-5
#[test]
fn assets_and_files_of_bundles_are_not_run() {
    let shop = plain("x");
    shop.home.write("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: d\n---\n");
    shop.home.write("skills/pdf/scripts/x.sh", "x");
    shop.home.write("skills/tool.md", "---\nkeywords: [t]\ndescription: d\nassets:\n  - {file: scripts/x.sh, description: d}\n---\n");
    let mut client = shop.client();
    let message = refused(&mut client, &request("scripts/x.sh", &json!({})));
    assert!(
        message.contains("is an asset of skill 'tool', not a script. Fetch it with get_asset."),
        "{message}"
    );
    let message =
        refused(&mut client, &json!({"skill_path": "pdf", "file": "scripts/x.sh", "args": {}}));
    assert!(message.contains("bundles declare no scripts"), "{message}");
}

// SCRIPT-1
#[test]
fn a_malformed_request_is_a_protocol_error_and_runs_nothing() {
    let shop = plain("echo ran > marker\n");
    let mut client = shop.client();
    for (arguments, said) in [
        (json!({"skill_path": "tool", "file": "scripts/x.sh"}), "run_script needs args"),
        (
            json!({"skill_path": "tool", "file": "scripts/x.sh", "args": []}),
            "'args' must be a object, not an array",
        ),
        (
            json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {"n": 3}}),
            "'n' in args must be a string",
        ),
        (
            json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {}, "cwd": 1}),
            "'cwd' must be a string",
        ),
    ] {
        let (code, message) = client.refused("run_script", &arguments);
        assert!(code == -32602 && message.contains(said), "{code} {message}");
    }
    assert!(!shop.project().join("marker").exists());
}

// SCRIPT-10
#[test]
fn a_script_works_in_the_start_directory_and_in_allowed_folders_only() {
    let shop = plain("pwd; echo x > made\n");
    shop.home.write("project/sub/x", "");
    shop.home.write("other/x", "");
    let other = shop.home.path().join("other").canonicalize().unwrap();
    let project = shop.project();
    let answer = shop.run("scripts/x.sh");
    assert_eq!(
        (&answer["stdout"], answer.get("note")),
        (&json!(format!("{}\n", project.display())), None)
    );
    assert!(project.join("made").exists());
    let ask =
        |cwd: &Path| json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {}, "cwd": cwd});
    let mut client = shop.client();
    let sub = client.call(
        "run_script",
        &json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {}, "cwd": "sub"}),
    );
    assert_eq!(sub.json["stdout"], format!("{}\n", project.join("sub").display()));
    let message = refused(&mut client, &ask(&other));
    assert!(
        message.contains("lies in no allowed folder. Allowed: ")
            && message.contains("scripts.roots"),
        "{message}"
    );
    let shop = shop.set(&format!("scripts.roots=[{}]", other.display()));
    assert_eq!(shop.client().call("run_script", &ask(&other)).json["exit_code"], 0);
    assert!(other.join("made").exists());
}

// SCRIPT-10
#[test]
fn started_at_home_a_script_works_in_a_private_folder_and_the_answer_says_so() {
    let shop = plain("echo $PWD $HOME $TMPDIR; echo x > made\n");
    let mut command = shop.command(&[]);
    command.current_dir(shop.home.path());
    let answer = run(&mut Client::legacy(command, "2025-11-25"), "scripts/x.sh", &json!({}));
    assert!(
        answer["note"]
            .as_str()
            .unwrap()
            .starts_with("The script worked in an empty private folder, not in your project,"),
        "{answer}"
    );
    let places: Vec<&str> = answer["stdout"].as_str().unwrap().split_whitespace().collect();
    assert!(
        places[0].contains("skills-mcp-run-") && places[0] == places[1] && places[1] == places[2],
        "{places:?}"
    );
    assert!(!shop.home.path().join("made").exists());
    wait_until("the private folder is gone", || !fs::exists(places[0]).unwrap());
}

// SCRIPT-10
#[test]
fn x12_a_folder_outside_linked_out_or_deleted_is_refused() {
    let shop = plain("pwd\n");
    shop.home.write("other/x", "");
    symlink(shop.home.path().join("other"), shop.project().join("out")).unwrap();
    fs::create_dir(shop.project().join("gone")).unwrap();
    let mut client = shop.client();
    fs::remove_dir(shop.project().join("gone")).unwrap();
    for (cwd, said) in [
        ("../other", "lies in no allowed folder"),
        ("out", "lies in no allowed folder"),
        ("/etc", "lies in no allowed folder"),
        ("/", "lies in no allowed folder"),
        ("gone", "is not a folder that exists"),
        ("README", "is not a folder that exists"),
        ("\0", "is not a folder that exists"),
    ] {
        let mut request = request("scripts/x.sh", &json!({}));
        request["cwd"] = json!(cwd);
        let message = refused(&mut client, &request);
        assert!(message.contains(said), "{cwd}: {message}");
    }
}

// Limits.

// SCRIPT-9
#[test]
fn one_run_more_than_may_run_is_told_that_the_server_is_busy() {
    let shop = plain("touch started\nuntil [ -e go ]; do sleep 0.02; done\n")
        .set("scripts.max_concurrent=1");
    let started = shop.project().join("started");
    let mut client = shop.client();
    let call = json!({"name": "run_script", "arguments": request("scripts/x.sh", &json!({}))});
    let first = client.ask("tools/call", call);
    wait_until("it runs", || started.exists());
    let message = refused(&mut client, &request("scripts/x.sh", &json!({})));
    assert!(message.contains("this server is busy: 1 scripts may run at once (scripts.max_concurrent), and do. Try again when one has ended."), "{message}");
    fs::write(shop.project().join("go"), "").unwrap();
    assert_eq!(client.answer(first)["result"]["isError"], json!(false));
    // The place is free again, whatever became of the run.
    run(&mut client, "scripts/x.sh", &json!({}));
}

#[test]
fn x13_of_two_hundred_at_once_some_run_and_the_rest_hear_busy_and_nothing_leaks() {
    let shop = plain("sleep 0.3\n");
    let mut client = shop.client();
    run(&mut client, "scripts/x.sh", &json!({}));
    // Only root may look into the server; for other users the answers are the test.
    let open = |client: &Client| {
        fs::read_dir(format!("/proc/{}/fd", client.pid())).map_or(0, Iterator::count)
    };
    let before = open(&client);
    let call = json!({"name": "run_script", "arguments": request("scripts/x.sh", &json!({}))});
    let asked: Vec<u64> = (0..200).map(|_| client.ask("tools/call", call.clone())).collect();
    // Another call is answered meanwhile.
    let started = Instant::now();
    client.call("get_skill", &json!({"skill_path": "tool"}));
    assert!(started.elapsed() < PROMPT_TIMEOUT, "{:?}", started.elapsed());
    let answers: Vec<Value> = asked.into_iter().map(|id| client.answer(id)).collect();
    let texts: Vec<&str> = answers
        .iter()
        .map(|answer| answer["result"]["content"][0]["text"].as_str().unwrap())
        .collect();
    let ran = texts.iter().filter(|text| text.contains("\"success\":true")).count();
    let busy = texts
        .iter()
        .filter(|text| text.contains("this server is busy: 4 scripts may run at once"))
        .count();
    assert!(ran >= 4 && ran + busy == 200, "{ran} ran, {busy} heard busy");
    wait_until("all descriptors are closed", || open(&client) <= before + 2);
}

// SCRIPT-9
#[test]
fn x08_output_is_capped_exactly_and_marked_and_memory_stays_flat() {
    let shop = Workshop::new()
        .script("scripts/much.sh", "", "head -c 300000000 /dev/zero; echo done >&2\n")
        .script("scripts/odd.py", "", "import sys\nsys.stdout.buffer.write(b'ok \\xff\\xfe \\x1b[31m ' + '\\u00e9'.encode() * 600)\n")
        .set("scripts.max_output_bytes=1000");
    let mut client = shop.client();
    let much = run(&mut client, "scripts/much.sh", &json!({}));
    assert_eq!(much["stdout"].as_str().unwrap().len(), 1000);
    assert_eq!(
        (&much["stdout_truncated"], &much["stderr"], much.get("stderr_truncated")),
        (&json!(true), &json!("done\n"), None)
    );
    assert_eq!(much["exit_code"], 0);
    let odd = run(&mut client, "scripts/odd.py", &json!({}));
    let text = odd["stdout"].as_str().unwrap();
    assert!(text.starts_with("ok \u{fffd}\u{fffd} \u{1b}[31m é") && text.ends_with('é'), "{text}");
    assert_eq!(odd["stdout_truncated"], true);
    let status = fs::read_to_string(format!("/proc/{}/status", client.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 60_000, "the server took {peak} kB");
}

// Nothing stays.

// SCRIPT-11
#[test]
fn x06_the_worst_script_is_answered_in_time_and_leaves_no_process() {
    let shop =
        Workshop::new().script("scripts/worst.sh", MARK, WORST).set("scripts.timeout_seconds=1");
    let shop = worst(shop.set("scripts.grace_seconds=1"), 1);
    // The benchmark does a thousand, and keeps the time: beside other work an answer may take long.
    worst(shop.set("scripts.grace_seconds=0"), 4);
}

/// Four at a time, as many as may run.
fn worst(shop: Workshop, rounds: usize) -> Workshop {
    let mut client = shop.client();
    for _ in 0..rounds {
        let marks: Vec<String> = (0..4).map(|_| mark()).collect();
        let ask = |mark: &String| {
            let arguments = request("scripts/worst.sh", &json!({"mark": mark}));
            client.ask("tools/call", json!({"name": "run_script", "arguments": arguments}))
        };
        let asked: Vec<u64> = marks.iter().map(ask).collect();
        for (id, mark) in asked.into_iter().zip(&marks) {
            let answer = client.answer(id);
            assert_eq!(marked(mark), Vec::<String>::new(), "{answer}");
            let text = answer.pointer("/result/content/0/text").and_then(Value::as_str).unwrap();
            let answer: Value = serde_json::from_str(text).unwrap();
            assert_eq!(answer.get("exit_code"), Some(&json!(137)), "{answer}");
            // Beside other work a script may not even begin within its second.
            let said = answer.get("stdout").and_then(Value::as_str).unwrap();
            assert!(["", "begun\n"].contains(&said), "{answer}");
            // From its start to its end, by the clock of the supervisor.
            let took = answer.get("duration_ms").and_then(Value::as_u64).unwrap();
            assert!((1000..60_000).contains(&took), "{answer}");
        }
    }
    shop
}

#[test]
fn x06_a_supervisor_that_cannot_open_a_file_any_more_leaves_no_process_all_the_same() {
    // Without the sandbox, which would not let it happen.
    let shop = Workshop::new()
        .script(
            "scripts/x.py",
            MARK,
            "import os, resource, subprocess, time\nmark = os.environ['SKILL_ARG_MARK']\nassert os.getppid() > 1\nsubprocess.run(['bash', '-c', f'for i in 1 2 3; do (setsid setsid sleep {mark} &); done'], check=True)\nresource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))\nsubprocess.Popen(['sleep', mark], start_new_session=True)\nprint('blinded')\n",
        )
        .set("scripts.sandbox=off");
    let mark = mark();
    for start in [shop.command(&[]), shop.ordinary(&[])] {
        let mut client = Client::legacy(start, "2025-11-25");
        let reply = client.call("run_script", &request("scripts/x.py", &json!({"mark": mark})));
        assert_eq!(marked(&mark), Vec::<String>::new(), "{}", reply.text);
        assert!(reply.text.contains("blinded"), "{}", reply.text);
    }
}

#[test]
fn x07_a_script_that_leaves_a_daemon_on_its_pipe_is_answered_at_once_and_the_daemon_ends() {
    let shop = Workshop::new().script(
        "scripts/d.sh",
        MARK,
        "(setsid sleep $SKILL_ARG_MARK &)\necho left\n",
    );
    let mark = mark();
    let answer = run(&mut shop.client(), "scripts/d.sh", &json!({"mark": mark}));
    // A run that waits for the daemon ends by its timeout, with another code.
    assert_eq!((&answer["exit_code"], &answer["stdout"]), (&json!(0), &json!("left\n")));
    assert_eq!(marked(&mark), Vec::<String>::new());
}

#[test]
fn many_processes_one_after_the_other_are_not_too_many() {
    let shop = plain(
        "for i in $(seq 400); do (true &); done; sleep 0.3; for i in $(seq 100); do (true &); done; echo done\n",
    );
    let answer = shop.run("scripts/x.sh");
    assert_eq!(
        (&answer["exit_code"], &answer["stdout"]),
        (&json!(0), &json!("done\n")),
        "{answer}"
    );
}

// SCRIPT-11
#[test]
fn a_cancelled_request_ends_the_whole_tree_and_the_trail_says_so() {
    let shop = Workshop::new().script("scripts/worst.sh", MARK, WORST);
    let mut client = shop.client();
    let mark = mark();
    let arguments = request("scripts/worst.sh", &json!({"mark": mark}));
    let id = client.ask("tools/call", json!({"name": "run_script", "arguments": arguments}));
    wait_until("it runs", || marked(&mark).len() >= 4);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    wait_until("no process is left", || marked(&mark).is_empty());
    let (_, _, log) = client.close();
    assert!(log.contains("result=\"cancelled\""), "{log}");
}

#[test]
fn a_server_that_is_killed_leaves_no_process_and_its_folder_goes() {
    let shop = Workshop::new().script("scripts/worst.sh", MARK, WORST);
    let mut client = shop.client();
    let mark = mark();
    let arguments = request("scripts/worst.sh", &json!({"mark": mark}));
    client.ask("tools/call", json!({"name": "run_script", "arguments": arguments}));
    wait_until("it runs", || marked(&mark).len() >= 4);
    let place = running_in(&mark);
    let killed = Command::new("kill").args(["-9", &client.pid().to_string()]).status().unwrap();
    assert!(killed.success());
    wait_until("no process is left", || marked(&mark).is_empty());
    wait_until("the folder is gone", || !fs::exists(&place).unwrap());
}

/// The private folder of the run with this mark. A process that is just being started shows no environment yet.
fn running_in(mark: &str) -> String {
    let place = |pid: String| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let mut variables = environment.split('\0');
        let home = variables.find_map(|pair| pair.strip_prefix("HOME="))?;
        home.strip_suffix("/home").map(str::to_owned)
    };
    let mut found = None;
    wait_until("one shows where it runs", || {
        found = marked(mark).into_iter().find_map(place);
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_run_whose_supervisor_is_killed_is_called_lost_leaves_no_process_and_the_server_lives() {
    let shop = Workshop::new().script("scripts/x.sh", MARK, WORST);
    let mut client = shop.client();
    let mark = mark();
    let arguments = request("scripts/x.sh", &json!({"mark": mark}));
    let id = client.ask("tools/call", json!({"name": "run_script", "arguments": arguments}));
    wait_until("it runs", || marked(&mark).len() >= 4);
    let supervisor = supervisor(client.pid());
    assert!(Command::new("kill").args(["-9", &supervisor]).status().unwrap().success());
    let answer = client.answer(id).to_string();
    assert!(
        answer.contains("was lost, and how far it came is unknown")
            && answer.contains("See what it has done"),
        "{answer}"
    );
    let message = refused(&mut client, &request("scripts/none.sh", &json!({})));
    assert!(message.contains("not found"), "{message}");
    assert_eq!(marked(&mark), Vec::<String>::new(), "what was left to the server has ended");
    let (_, _, log) = client.close();
    assert!(log.contains("result=\"lost\"") && log.contains("result=\"refused\""), "{log}");
}

/// The supervisor that a server has started; it may have other children, which remove what earlier runs left.
fn supervisor(server: u32) -> String {
    let tasks = fs::read_dir(format!("/proc/{server}/task")).unwrap().flatten();
    let lists =
        tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let children: Vec<String> = lists
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let supervises = |child: &&String| {
        let command = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains("__supervise")
    };
    children.iter().find(supervises).unwrap().clone()
}

#[test]
fn a_client_that_leaves_is_not_waited_for_and_its_script_ends() {
    let shop = Workshop::new().script("scripts/worst.sh", MARK, WORST);
    let mut client = shop.client();
    let mark = mark();
    let arguments = request("scripts/worst.sh", &json!({"mark": mark}));
    client.ask("tools/call", json!({"name": "run_script", "arguments": arguments}));
    wait_until("it runs", || marked(&mark).len() >= 4);
    let (status, took, _) = client.close();
    assert!(status.success() && took < PROMPT_TIMEOUT, "{status} {took:?}");
    wait_until("no process is left", || marked(&mark).is_empty());
}

#[test]
fn what_a_killed_machine_left_behind_is_swept_at_the_next_start_and_what_lives_is_not() {
    let shop = Workshop::new().script("scripts/worst.sh", MARK, WORST);
    let temporary = shop.home.path().join("tmp");
    let start = || {
        let mut command = shop.command(&[]);
        command.env("TMPDIR", &temporary);
        Client::legacy(command, "2025-11-25")
    };
    shop.home.write("tmp/skills-mcp-run-dead/lock", "");
    shop.home.write("tmp/skills-mcp-run-dead/home/closed/x", "");
    shop.home.write("tmp/another/x", "");
    let mut first = start();
    let mark = mark();
    let arguments = request("scripts/worst.sh", &json!({"mark": mark}));
    first.ask("tools/call", json!({"name": "run_script", "arguments": arguments}));
    wait_until("it runs", || marked(&mark).len() >= 4);
    let living = running_in(&mark);
    let mut second = start();
    second.call("list_skills", &json!({}));
    wait_until("the dead one is gone", || !temporary.join("skills-mcp-run-dead").exists());
    assert!(fs::exists(&living).unwrap() && temporary.join("another/x").exists());
}

#[test]
fn progress_is_told_about_once_a_second_to_those_who_ask() {
    let shop = plain("sleep 2.5\n");
    let mut client = shop.client();
    let mut params =
        json!({"name": "run_script", "arguments": request("scripts/x.sh", &json!({}))});
    let asked = client.ask("tools/call", params.clone());
    client.answer(asked);
    params["_meta"] = json!({"progressToken": "p-7"});
    let asked = Instant::now();
    let id = client.ask("tools/call", params);
    let mut told = Vec::new();
    loop {
        let message = client.message();
        if message["id"] == json!(id) {
            break;
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(
            (&message["params"]["progressToken"], &message["params"]["total"]),
            (&json!("p-7"), &json!(60.0))
        );
        told.push(message["params"]["progress"].as_f64().unwrap());
    }
    // The script may take longer than it sleeps, beside other work.
    let (seconds, elapsed) = (1..=u32::try_from(told.len()).unwrap(), asked.elapsed());
    assert_eq!(told, seconds.map(f64::from).collect::<Vec<f64>>());
    assert!((2.0..=elapsed.as_secs_f64()).contains(&told.last().copied().unwrap_or_default()));
}

// Attacks.

// SCRIPT-5
#[test]
fn x01_values_are_literal_whatever_they_hold() {
    let shop = Workshop::new().script(
        "scripts/x.sh",
        "args: [{name: v, description: d}]",
        "printf '%s' \"$SKILL_ARG_V\"\n",
    );
    let mut client = shop.client();
    for value in [
        "$(touch pwned)",
        "`touch pwned`",
        "; touch pwned #",
        "-rf",
        "--version",
        "a\nb\r\n",
        "'\"\\",
        "é漢\u{202e}",
        "",
        "${IFS}",
    ] {
        let answer = run(&mut client, "scripts/x.sh", &json!({"v": value}));
        assert_eq!(answer["stdout"], value);
    }
    let message = refused(&mut client, &request("scripts/x.sh", &json!({"v": "a\0b"})));
    assert!(message.contains("holds a NUL character"), "{message}");
    assert!(!shop.project().join("pwned").exists());
}

// SCRIPT-5
#[test]
fn x02_no_argument_becomes_another_variable() {
    let shop = Workshop::new()
        .script("scripts/x.sh", "args:\n  - {name: PATH, description: d, required: false}\n  - {name: LD_PRELOAD, description: d, required: false}", "env -0 | tr '\\0' '\\n' | sort\n")
        .script("scripts/twice.sh", "args:\n  - {name: A-B, description: d}\n  - {name: a_b, description: d}", "x")
        .script("scripts/odd.sh", "args: [{name: a=b, description: d}]", "x");
    let mut client = shop.client();
    let answer =
        run(&mut client, "scripts/x.sh", &json!({"PATH": "/evil", "LD_PRELOAD": "/evil.so"}));
    let variables = answer["stdout"].as_str().unwrap();
    assert!(
        variables.contains("\nSKILL_ARG_LD_PRELOAD=/evil.so\nSKILL_ARG_PATH=/evil\n"),
        "{variables}"
    );
    assert!(
        variables.contains("\nPATH=/usr/bin:/usr/local/sbin:")
            && !variables.contains("\nLD_PRELOAD"),
        "{variables}"
    );
    for (file, args, said) in [
        ("scripts/twice.sh", json!({"A-B": "1", "a_b": "2"}), "would both be SKILL_ARG_A_B"),
        ("scripts/odd.sh", json!({"a=b": "1"}), "cannot be the name of a variable"),
        ("scripts/x.sh", json!({"undeclared": "1"}), "declares no argument 'undeclared'"),
        ("scripts/x.sh", json!({"PATH": "x".repeat(3 << 20)}), "is 3145728 bytes, over the limit"),
    ] {
        let message = refused(&mut client, &request(file, &args));
        assert!(message.contains(said) && message.len() < 400, "{message}");
    }
}

// SCRIPT-11
#[test]
fn x03_only_declared_files_run_and_what_runs_is_what_was_read() {
    let shop = Workshop::new()
        .script(
            "scripts/x.sh",
            "",
            "touch begun; until [ -e go ]; do sleep 0.02; done; cat \"$0\"\n",
        )
        .script("scripts/x.SH", "", "echo loud\n")
        .script("scripts/link.sh", "", "x");
    shop.home.write("skills/tool/scripts/undeclared.sh", "echo no\n");
    let link = shop.home.path().join("skills/tool/scripts/link.sh");
    fs::remove_file(&link).unwrap();
    symlink(shop.home.path().join("skills/tool/scripts/undeclared.sh"), &link).unwrap();
    let mut client = shop.client();
    for (file, said) in [
        ("scripts/undeclared.sh", "not found for skill 'tool'"),
        ("scripts/x.sh/../undeclared.sh", "Path traversal refused"),
        ("scripts/x.sh\n", "Path traversal refused"),
        ("scripts/x.SH", "has the extension .SH"),
        ("scripts/link.sh", "is a symbolic link"),
    ] {
        let message = refused(&mut client, &request(file, &json!({})));
        assert!(message.contains(said), "{file}: {message}");
    }
    // Changed while it runs: the copy it runs from is not.
    let call = json!({"name": "run_script", "arguments": request("scripts/x.sh", &json!({}))});
    let id = client.ask("tools/call", call);
    wait_until("it runs", || shop.project().join("begun").exists());
    shop.home.write("skills/tool/scripts/x.sh", "echo another\n");
    fs::write(shop.project().join("go"), "").unwrap();
    let answer = client.answer(id).to_string();
    assert!(answer.contains("touch begun; until") && !answer.contains("another"), "{answer}");
}

#[test]
fn x14_a_runner_that_is_missing_or_cannot_start_is_said_and_npx_is_not_tried_without_a_network() {
    let shop = Workshop::new()
        .script("scripts/x.ts", "", "console.log(1)")
        .script("scripts/x.py", "", "print(1)")
        .script("scripts/x.js", "", "x")
        .set("scripts.runners={.py: /etc/passwd, .js: /usr/bin}");
    shop.home.write("bin/npx", "#!/bin/sh\ntouch \"$0.tried\"\n");
    shop.home.write("bin/node", "#!/bin/sh\necho v18.1.0\n");
    for program in ["npx", "node"] {
        finished(Command::new("chmod").arg("755").arg(shop.home.path().join("bin").join(program)));
    }
    let mut command = shop.command(&[]);
    command.env("PATH", shop.home.path().join("bin"));
    let mut client = Client::legacy(command, "2025-11-25");
    for (file, said) in [
        (
            "scripts/x.ts",
            "TypeScript needs tsx or Node 22.6 and newer: tsx is not installed, and Node 18.1",
        ),
        ("scripts/x.py", "the runner of .py scripts, /etc/passwd, is not executable"),
        ("scripts/x.js", "the runner of .js scripts, /usr/bin, is not installed"),
    ] {
        let message = refused(&mut client, &request(file, &json!({})));
        assert!(message.contains(said), "{file}: {message}");
    }
    assert!(!shop.home.path().join("bin/npx.tried").exists());
}

#[test]
fn typescript_runs_under_an_installed_tsx() {
    let shop = Workshop::new().script("scripts/x.ts", "", "console.log(1)");
    shop.home.write("tools/bin/tsx", "#!/bin/sh\necho tsx of $(dirname $0) runs $(cat $1)\n");
    finished(Command::new("chmod").arg("755").arg(shop.home.path().join("tools/bin/tsx")));
    let mut command = shop.command(&[]);
    let tools = shop.home.path().join("tools/bin").canonicalize().unwrap();
    command.env("PATH", format!("{}:/usr/bin:/bin", tools.display()));
    let answer = run(&mut Client::legacy(command, "2025-11-25"), "scripts/x.ts", &json!({}));
    assert_eq!(
        answer["stdout"],
        format!("tsx of {} runs console.log(1)\n", tools.display()),
        "{answer}"
    );
}

#[test]
fn x15_strict_content_may_only_tighten_what_scripts_may_do() {
    let shop = plain("echo ran\n");
    shop.home.write("skills/config.yaml", "scripts:\n  runners: {.sh: /bin/echo}\n  timeout_seconds: 3000\n  max_output_bytes: 2\n  sandbox: off\n  roots: [/]\n  env: [HOMEBREW]\n  max_concurrent: 60\n");
    let start = |trust: &str| {
        let mut command = shop.command(&[]);
        command.env("SKILLS_TRUST", trust);
        Client::legacy(command, "2025-11-25")
    };
    let mut strict = start("strict");
    let answer = run(&mut strict, "scripts/x.sh", &json!({}));
    assert_eq!(
        (&answer["stdout"], &answer["stdout_truncated"]),
        (&json!("ra"), &json!(true)),
        "{answer}"
    );
    assert_ne!(answer["sandbox"], "none");
    let (_, _, log) = strict.close();
    for key in [
        "scripts.runners",
        "scripts.timeout_seconds",
        "scripts.sandbox",
        "scripts.roots",
        "scripts.env",
        "scripts.max_concurrent",
    ] {
        assert!(log.contains(&format!("`{key}` may not be set")), "{key}: {log}");
    }
    // Content that is trusted names runners, and still neither where they lie nor the sandbox.
    let answer = run(&mut start("named"), "scripts/x.sh", &json!({}));
    assert_ne!(answer["sandbox"], "none", "{answer}");
    shop.home.write("skills/config.yaml", "scripts: {enabled: false}\n");
    let message = refused(&mut start("strict"), &request("scripts/x.sh", &json!({})));
    assert!(message.contains("Scripts are disabled"), "{message}");
}

#[test]
fn x15_a_runner_that_content_places_opens_no_folder_to_its_script() {
    let shop = Workshop::new()
        .script("scripts/x.sh", "", "cat ../outside 2>&1; echo $0\n")
        .script("scripts/x.own", "", "cat ../outside 2>&1\n")
        .set("scripts.allowed_extensions=[.sh, .own]");
    shop.home.write("outside", "canary\n");
    shop.home.write("tools/bin/own", "#!/bin/sh\n. \"$1\"\n");
    shop.home.write("tools/lib/x", "canary\n");
    finished(Command::new("chmod").arg("755").arg(shop.home.path().join("tools/bin/own")));
    let start = |runner: &str| {
        let text = format!("scripts:\n  runners: {{{runner}}}\n");
        shop.home.write("skills/config.yaml", text);
        finished(&mut shop.command(&["trust", "--yes"]));
        let mut command = shop.command(&[]);
        let tools = shop.home.path().join("tools/bin");
        command.env("PATH", format!("/usr/bin:/bin:{}", tools.display()));
        Client::legacy(command, "2025-11-25")
    };
    for runner in [".sh: /var/../bin/bash", ".sh: /bin/bash", ".sh: //bin/bash"] {
        let mut client = start(runner);
        let answer = run(&mut client, "scripts/x.sh", &json!({}));
        assert!(!answer.to_string().contains("canary"), "{runner}: {answer}");
        let (_, _, log) = client.close();
        assert!(log.contains("`scripts.runners` may not be set"), "{runner}: {log}");
    }
    // A program of the PATH may be named, and gets to read nothing for it.
    let message = refused(&mut start(".own: own"), &request("scripts/x.own", &json!({})));
    assert!(message.contains("tools/bin/own cannot be started"), "{message}");
    let shop = shop.set("scripts.runners={.own: /usr/../bin/sh}");
    let message = refused(&mut shop.client(), &request("scripts/x.own", &json!({})));
    assert!(message.contains("has `..` in its path"), "{message}");
}

// SCRIPT-10
#[test]
fn script_10_a_script_works_in_the_project_whatever_is_served_from_it() {
    let shop = plain("cat src/app.ts; echo made > made.txt; pwd\n");
    for (from, to) in [("tool.md", "tool.md"), ("tool/scripts/x.sh", "tool/scripts/x.sh")] {
        let text = fs::read_to_string(shop.home.skills().join(from)).unwrap();
        shop.home.write(&format!("project/skills/{to}"), text);
    }
    shop.home.write("project/src/app.ts", "the app\n");
    let project = shop.project();
    let agents = "project/.agents/skills/note/SKILL.md";
    for (dir, with_agents) in [("skills", false), ("skills", true), ("../skills", true)] {
        if with_agents {
            shop.home.write(agents, "---\nname: note\ndescription: Take notes.\n---\nWrite.\n");
        }
        let mut command = shop.home.command(env!("CARGO_BIN_EXE_skills-mcp"));
        command.current_dir(&project).args(["--dir", dir]);
        if with_agents {
            command.args(["--dir", ".agents/skills"]);
        }
        let answer = run(&mut Client::legacy(command, "2025-11-25"), "scripts/x.sh", &json!({}));
        let seen = format!("the app\n{}\n", project.display());
        assert_eq!((&answer["stdout"], &answer["note"]), (&json!(seen), &json!(null)), "{answer}");
        assert_eq!(fs::read_to_string(project.join("made.txt")).unwrap(), "made\n");
        fs::remove_file(project.join("made.txt")).unwrap();
    }
    // Where no folder can be used, that comes before what the script says.
    let mut command = shop.home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.current_dir(shop.home.path()).arg("--dir").arg(shop.home.skills());
    let call = json!({"name": "run_script", "arguments": request("scripts/x.sh", &json!({}))});
    let answer = Client::legacy(command, "2025-11-25").request("tools/call", call);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let said = text.trim_start_matches(['{', '\n', ' ']);
    assert!(said.starts_with("\"note\"") && said.contains("in an empty private folder"), "{text}");
}

#[test]
fn x17_links_out_of_the_skills_folder_are_neither_run_nor_copied() {
    let shop = Workshop::new()
        .script("scripts/x.sh", "", "cd \"$(dirname \"$0\")/../assets\"; cat * 2>&1; ls\n")
        .script("scripts/sub/y.sh", "", "echo behind a link\n")
        .script("scripts/deep/z.sh", "", "echo plain\n");
    shop.home.write("outside/secret.txt", "canary\n");
    shop.home.write("outside/y.sh", "echo canary\n");
    shop.home.write("skills/tool/assets/own.txt", "own\n");
    let tool = shop.home.skills().join("tool");
    symlink("own.txt", tool.join("assets/alias.txt")).unwrap();
    shop.home.write("skills/shared/lib.txt", "another skill's\n");
    symlink("../../shared/lib.txt", tool.join("assets/lib.txt")).unwrap();
    symlink(shop.home.path().join("outside/secret.txt"), tool.join("assets/out.txt")).unwrap();
    symlink(shop.home.path().join("outside"), tool.join("assets/folder")).unwrap();
    fs::remove_dir_all(tool.join("scripts/sub")).unwrap();
    symlink(shop.home.path().join("outside"), tool.join("scripts/sub")).unwrap();
    let mut client = shop.client();
    let answer = run(&mut client, "scripts/x.sh", &json!({}));
    assert_eq!(answer["stdout"], "own\nown\nalias.txt\nown.txt\n", "{answer}");
    let note =
        "Of the skill's folder assets/lib.txt was left out: unreadable, linked from elsewhere";
    assert!(answer["note"].to_string().contains(note), "{answer}");
    let (_, out, _) = finished(&mut shop.command(&["doctor", "--all"]));
    assert_eq!(out.matches("error[link-refused]").count(), 3, "{out}");
    let message = refused(&mut client, &request("scripts/sub/y.sh", &json!({})));
    assert!(message.contains("missing on disk"), "{message}");
    assert_eq!(run(&mut client, "scripts/deep/z.sh", &json!({}))["stdout"], "plain\n");
}

#[test]
fn x16_nothing_that_lies_around_is_started_with_a_script() {
    let shop = Workshop::new()
        .script("scripts/x.py", "", "import os, sys\nprint(sorted(os.environ))\nprint('site' if 'planted' in sys.modules else 'clean')\n")
        .script("scripts/x.sh", "", "echo sh\n");
    let planted = "import os\nopen(os.environ['HOME'] + '/x', 'w')\nprint('PLANTED')\n";
    for file in ["sitecustomize.py", "usercustomize.py", "conftest.py", "planted.py", "os.py"] {
        shop.home.write(&format!("project/{file}"), planted);
    }
    shop.home.write("skills/tool/scripts/sitecustomize.py", planted);
    shop.home.write("project/x.pth", "import planted\n");
    shop.home.write("project/rc", "echo PLANTED\n");
    let mut command = shop.command(&[]);
    command.env("BASH_ENV", shop.project().join("rc")).env("ENV", shop.project().join("rc"));
    command
        .env("PYTHONPATH", shop.project())
        .env("PYTHONSTARTUP", shop.project().join("planted.py"));
    command
        .env("NODE_OPTIONS", "--require ./x.js")
        .env("BASH_FUNC_echo%%", "() { printf PLANTED; }");
    let mut client = Client::legacy(command, "2025-11-25");
    let answer = run(&mut client, "scripts/x.py", &json!({}));
    let expected = "['GIT_CONFIG_NOSYSTEM', 'HOME', 'LANG', 'PATH', 'TMPDIR']\nclean\n";
    assert_eq!(
        answer["stdout"].as_str().unwrap().replace("'LC_CTYPE', ", ""),
        expected,
        "{answer}"
    );
    assert_eq!(run(&mut client, "scripts/x.sh", &json!({}))["stdout"], "sh\n");
}

// SCRIPT-6
#[test]
fn a_script_receives_the_variables_it_declares_and_the_operator_lists() {
    let shop = Workshop::new()
        .script(
            "scripts/x.sh",
            "env: [GIVEN, NOT_LISTED, NOT_SET, GITHUB_TOKEN]",
            "env | grep -c -e NOT_LISTED -e OTHER -e GITHUB; echo $GIVEN\n",
        )
        .set("scripts.env=[GIVEN, OTHER, NOT_SET]");
    let mut command = shop.command(&[]);
    command
        .env("GIVEN", "from the machine")
        .env("NOT_LISTED", "x")
        .env("OTHER", "x")
        .env("GITHUB_TOKEN", "x");
    let answer = run(&mut Client::legacy(command, "2025-11-25"), "scripts/x.sh", &json!({}));
    assert_eq!(answer["stdout"], "0\nfrom the machine\n", "{answer}");
    assert!(
        answer["note"].as_str().unwrap().contains("did not get: NOT_LISTED, NOT_SET, GITHUB_TOKEN"),
        "{answer}"
    );
    let (code, _, err) = finished(
        shop.command(&["serve", "--set", "scripts.env=[GITHUB_TOKEN]"])
            .stdin(std::process::Stdio::null()),
    );
    assert!(code == 2 && err.contains("scripts.env"), "{err}");
}

// The trail.

// SCRIPT-13
#[test]
fn every_run_and_every_refusal_leaves_a_line_and_an_event() {
    let shop = Workshop::new()
        .script(
            "scripts/x.sh",
            "args: [{name: key, description: d, required: false}]",
            "exit $SKILL_ARG_KEY\n",
        )
        .set("analytics.enabled=true");
    let mut client = Client::legacy(shop.command(&["--log", "debug"]), "2025-11-25");
    run(&mut client, "scripts/x.sh", &json!({"key": "4"}));
    refused(&mut client, &request("scripts/none.sh", &json!({"key": "5", "o\u{1b}": "6"})));
    refused(&mut client, &json!({"skill_path": "unknown", "file": "x", "args": {}}));
    client.refused("run_script", &request("scripts/x.sh", &json!({"key": 4})));
    let (_, _, log) = client.close();
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains("run_script") && line.contains("INFO")).collect();
    assert_eq!(lines.len(), 5, "{log}");
    assert!(
        lines[0].contains("result=\"started\"") && lines[0].contains("sha256=\""),
        "{}",
        lines[0]
    );
    assert!(lines[4].contains("args=\"key\" result=\"refused\""), "{}", lines[4]);
    let lines = &lines[1..];
    assert!(
        lines[0].contains("skill=\"tool\" script=\"scripts/x.sh\"")
            && lines[0].contains("args=\"key\" result=\"exited\" exit_code=4"),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].contains("result=\"refused\"") && !lines[1].contains('\u{1b}'),
        "{}",
        lines[1]
    );
    let events: Vec<Value> = log
        .lines()
        .filter_map(|line| line.split("event=").nth(1))
        .map(|quoted| {
            serde_json::from_str::<String>(quoted.trim()).unwrap_or_else(|_| panic!("{quoted}"))
        })
        .map(|text| serde_json::from_str::<Value>(&text).unwrap())
        .collect();
    let mut data: Vec<Value> = events.iter().map(|event| event["data"].clone()).collect();
    assert!(events.iter().all(|event| event["type"] == "script_executed"));
    assert!(data[0]["duration_ms"].take().as_u64().unwrap() < 10_000);
    assert_eq!(
        data[0],
        json!({"skill_path": "tool", "file": "scripts/x.sh", "execution_mode": "server", "success": false, "exit_code": 4, "duration_ms": null, "args_provided": ["key"]})
    );
    assert_eq!(
        data[1],
        json!({"skill_path": "tool", "file": "scripts/none.sh", "execution_mode": "server", "success": false, "exit_code": null, "duration_ms": 0, "args_provided": ["key", "o\\u{1b}"]})
    );
    assert_eq!(data[2]["skill_path"], "unknown");
}

// SCRIPT-13
#[test]
fn no_secret_reaches_a_script_a_log_an_event_or_an_answer() {
    let shop = Workshop::new()
        .script(
            "scripts/x.sh",
            "args: [{name: secret, description: d}]",
            "env | grep -v SKILL_ARG_SECRET; cat /proc/*/environ /proc/*/cmdline /proc/self/environ 2>/dev/null | tr '\\0' '\\n'; cat ~/.. ../config.yaml ../.skills-mcp/config.yaml 2>/dev/null; echo end\n",
        )
        .set("analytics.enabled=true");
    shop.home.write(
        ".skills-mcp/config.yaml",
        "analytics: {endpoint: 'http://127.0.0.1:9/canary-config'}\n",
    );
    let mut command = shop.command(&["--log", "trace"]);
    command.env("GITHUB_TOKEN", "canary-token").env("AWS_SECRET_ACCESS_KEY", "canary-aws");
    command.env("ANALYTICS_TOKEN", "canary-analytics");
    command
        .env("SKILLS_REPO", "https://user:canary-url@git.example.org/x.git")
        .env("SKILLS_DIR", shop.home.skills());
    let mut client = Client::legacy(command, "2025-11-25");
    let mut seen = Vec::new();
    let id = client.ask("tools/call", json!({"name": "run_script", "arguments": request("scripts/x.sh", &json!({"secret": "canary-argument"}))}));
    // While it runs, no process has what it was given among its arguments.
    for _ in 0..20 {
        seen.extend(marked("canary-"));
        std::thread::sleep(Duration::from_millis(2));
    }
    let answer = client.answer(id);
    assert!(
        answer["result"]["content"][0]["text"].as_str().unwrap().contains("end\\n"),
        "{answer}"
    );
    assert!(!answer.to_string().contains("canary-"), "{answer}");
    let message =
        refused(&mut client, &request("scripts/x.sh", &json!({"secret": "canary-nul\0"})));
    assert!(!message.contains("canary-"), "{message}");
    let (_, _, log) = client.close();
    for secret in [
        "canary-argument",
        "canary-nul",
        "canary-token",
        "canary-aws",
        "canary-analytics",
        "canary-url",
        "canary-config",
    ] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
    assert_eq!(seen, Vec::<String>::new(), "in an argument vector");
}

// The command.

#[test]
fn a_script_runs_where_the_leader_of_the_session_is_out_of_sight() {
    let shop = plain("echo ran\n");
    let inner = shop.command(&["run", "tool", "scripts/x.sh"]);
    let world = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    // The shell stays, as the first process of a container does.
    let (code, out, err) = finished(&mut after(&inner, &world, "\"$0\" \"$@\"; exit"));
    assert_eq!((code, out.as_str()), (0, "ran\n"), "{err}");
}

#[test]
fn run_does_for_authors_what_the_tool_does_for_agents() {
    let shop = Workshop::new().script(
        "scripts/x.sh",
        "args: [{name: n, description: number}]\nnetwork: true\nenv: [TOKEN]",
        "echo out $SKILL_ARG_N; echo err >&2; exit $SKILL_ARG_N\n",
    );
    let (code, out, err) =
        finished(&mut shop.command(&["run", "tool", "scripts/x.sh", "--arg", "n=0"]));
    assert_eq!((code, out.as_str()), (0, "out 0\n"));
    assert!(
        err.contains("err\n") && err.contains("exit code 0 after") && err.contains("sandbox: "),
        "{err}"
    );
    // Who runs a script by hand leaves the same trail, unless they ask for less.
    let trail: Vec<&str> = err.lines().filter(|line| line.contains("run_script")).collect();
    assert!(trail.len() == 2 && trail[0].contains("started") && trail[1].contains("exited"));
    let quiet = ["run", "tool", "scripts/x.sh", "--arg", "n=0", "--log", "error"];
    let (_, _, err) = finished(&mut shop.command(&quiet));
    let lines: Vec<&str> = err.lines().collect();
    assert!(lines[0].starts_with("It asks for variables") && lines[1] == "err", "{err}");
    let (code, out, _) =
        finished(&mut shop.command(&["run", "tool", "scripts/x.sh", "--arg", "n=7", "--json"]));
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &answer["exit_code"]), (1, &json!(7)));
    let (code, _, err) = finished(&mut shop.command(&["run", "tool", "scripts/x.sh"]));
    assert!(code == 1 && err.contains("it needs the argument 'n' (number)"), "{err}");
    assert!(err.contains("hint: give each with --arg NAME=VALUE"), "{err}");
    let (_, _, err) = finished(&mut shop.command(&["run", "tool", "scripts/gone.sh"]));
    assert!(
        err.contains("hint: this is the answer that an agent gets; here, arguments are --arg"),
        "{err}"
    );
    let (code, _, err) =
        finished(&mut shop.command(&["run", "tool", "scripts/x.sh", "--arg", "n"]));
    assert!(code == 2 && err.contains("--arg n: there is no `=`"), "{err}");
    let (code, out, err) =
        finished(&mut shop.command(&["run", "tool", "scripts/x.sh", "--arg", "n=0", "--explain"]));
    assert_eq!((code, err.as_str()), (0, ""));
    for said in [
        "scripts/x.sh of tool would run",
        "SKILL_ARG_N",
        "network     yes",
        "withheld    TOKEN",
        "/usr",
        "bash scripts/x.sh",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    assert!(!shop.home.path().join("project/made").exists());
    let (_, out, _) = finished(&mut shop.command(&[
        "run",
        "tool",
        "scripts/x.sh",
        "--arg",
        "n=0",
        "--explain",
        "--json",
    ]));
    let facts: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(facts["works in"], json!([shop.project()]));
}

#[test]
fn the_example_runs_as_it_is() {
    let home = Home::new();
    home.write("project/package.json", "{}");
    let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
    command.current_dir(home.path().join("project")).arg("--dir").arg(crate::support::example());
    let mut client = Client::legacy(command, "2025-11-25");
    let request = json!({"skill_path": "deploy/docker", "file": "scripts/setup-docker.sh", "args": {"project_dir": ".", "port": "8080"}});
    let answer = client.call("run_script", &request).json;
    assert_eq!(answer["stdout"], "created  ./Dockerfile\ncreated  ./.dockerignore\n", "{answer}");
    let made = fs::read_to_string(home.path().join("project/Dockerfile")).unwrap();
    assert!(made.contains("8080") && made.contains("node:22"), "{made}");
}

/// The part of `tsx` that Node loads: it takes off the types that the scripts below have.
const LOADER: &str = r#"import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent(`
import { readFile } from "node:fs/promises";
export async function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const text = await readFile(new URL(url), "utf8");
  return { format: "module", source: text.replaceAll(": number", ""), shortCircuit: true };
}`));
"#;
const TYPED: &str = "const n: number = 41;\nconsole.log('typed', n + 1);\n";

/// A workshop on a machine whose Node says that it is an old one, and has no `tsx`.
fn with_an_old_node(shop: &Workshop) -> Command {
    let node = shop.home.path().join("tools/bin/node");
    let text =
        "#!/bin/sh\n[ \"$1\" = --version ] && echo v20.20.2 && exit\nexec /usr/bin/node \"$@\"\n";
    shop.home.write("tools/bin/node", text);
    finished(Command::new("chmod").arg("755").arg(&node));
    let mut command = shop.command(&[]);
    command.env("PATH", node.parent().unwrap());
    command
}

#[test]
fn a04_typescript_runs_under_the_tsx_of_the_folder_it_works_in() {
    let shop = Workshop::new().script("scripts/x.ts", "", TYPED);
    let mut client = Client::legacy(with_an_old_node(&shop), "2025-11-25");
    let ask = request("scripts/x.ts", &json!({}));
    let message = refused(&mut client, &ask);
    let way = format!("or run `npm install tsx` in {}", shop.project().display());
    assert!(
        message.contains("Node 20.20") && message.contains("`npm install -g tsx`"),
        "{message}"
    );
    assert!(message.contains(&way), "{message}");
    shop.home.write("project/node_modules/tsx/dist/loader.mjs", LOADER);
    let answer = run(&mut client, "scripts/x.ts", &json!({}));
    assert_eq!(answer["stdout"], "typed 42\n", "{answer}");
    assert_ne!(answer["sandbox"], "none", "{answer}");
}

#[test]
fn a04_the_tsx_of_a_folder_never_runs_without_a_sandbox_nor_with_what_only_one_script_has() {
    let marker = "import { writeFileSync } from 'node:fs'; writeFileSync('ran', '');\n";
    let shop = Workshop::new()
        .script("scripts/net.ts", "network: true", TYPED)
        .script("scripts/env.ts", "env: [REPORT_TOKEN]", TYPED)
        .script("scripts/x.ts", "", TYPED);
    shop.home.write("project/node_modules/tsx/dist/loader.mjs", marker);
    let start = |setting: &str| {
        let mut command = with_an_old_node(&shop);
        command.args(["--set", setting]).env("REPORT_TOKEN", "secret");
        Client::legacy(command, "2025-11-25")
    };
    for (setting, file, why) in [
        ("scripts.env=[]", "scripts/net.ts", "the script has a network"),
        ("scripts.env=[REPORT_TOKEN]", "scripts/env.ts", "the script is given variables of yours"),
        ("scripts.sandbox=off", "scripts/x.ts", "scripts.sandbox is off"),
    ] {
        let message = refused(&mut start(setting), &request(file, &json!({})));
        assert!(message.contains("is not used, since") && message.contains(why), "{message}");
    }
    assert!(!shop.project().join("ran").exists());
}

#[test]
fn a04_the_examples_own_script_runs_on_any_node() {
    let home = Home::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills-content");
    let config = "skills/ui/react/auth/assets/auth-config.example.ts";
    let text = fs::read_to_string(example.join(config)).unwrap();
    home.write("project/auth-config.ts", &text);
    home.write("project/wrong.ts", text.replace("idleTimeoutMinutes: 30", "idleTimeoutMinutes: 1"));
    let check = |file: &str| {
        let mut command = home.command(env!("CARGO_BIN_EXE_skills-mcp"));
        command.current_dir(home.path().join("project")).arg("--dir").arg(&example);
        command.args(["run", "ui/react/auth", "scripts/validate-auth-config.js"]);
        crate::support::run(command.args(["--arg", &format!("config_path={file}")]))
    };
    let (code, out, err) = check("auth-config.ts");
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("auth-config.ts is valid"), "{out}{err}");
    let (code, out, err) = check("wrong.ts");
    assert_ne!(code, 0, "{out}{err}");
    assert!(format!("{out}{err}").contains("from 5 to 1440"), "{out}{err}");
}
