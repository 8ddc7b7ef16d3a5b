//! What an answer shows of files: no keys, no name that is there called absent, the body of a definition.

use crate::support::Sandbox;

fn committed(files: &[(&str, String)]) -> Sandbox {
    let desk = Sandbox::new();
    for (path, text) in files {
        desk.write(path, text);
    }
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "files"]);
    desk
}

#[test]
fn keys_and_tokens_of_files_are_in_no_answer() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\nQyNTUxOQAAACDmZ\n\
               -----END OPENSSH PRIVATE KEY-----\n";
    let desk = committed(&[
        ("src/config.py", format!("# the zebra_setting of it\nTOKEN = '{token}'\nzebra_end = 1\n")),
        ("id_rsa", format!("zebra_named\n{key}")),
        ("notes.md", format!("about the zebra_note\n{key}after it, zebra_after\n")),
    ]);
    desk.write("un.py", format!("zebra_uncommitted = '{token}'\n"));
    for question in ["zebra_setting", "zebra_end", "zebra_named", "zebra_note", "zebra_uncommitted"]
    {
        for command in ["context", "search"] {
            for json in [&[][..], &["--json"]] {
                let said = desk.run(&[json, &[command, question]].concat()).stdout;
                for secret in [token.as_str(), "b3BlbnNzaC1rZXktdjEA", "QyNTUxOQAAACDmZ"] {
                    assert!(!said.contains(secret), "{command} {question}: {said}");
                }
            }
        }
    }
    let shown = desk.colony(&["context", "zebra_note"]);
    assert!(shown.contains("zebra_after"), "the rest of the file is shown: {shown}");
    let shown = desk.colony(&["context", "zebra_setting"]);
    assert!(shown.contains(&"*".repeat(token.len())), "{shown}");
}

#[test]
fn a_name_that_git_finds_is_not_called_absent() {
    let long = format!("fn a_test_{}_with_my_token_inside() {{}}\n", "of_a_long_name_".repeat(5));
    let cut = format!("var x = '{}cut_name{}';\n", "y".repeat(1_195), "z".repeat(2_000));
    let desk = committed(&[
        ("a.rs", long),
        ("b.js", cut),
        ("c.rs", "let filename = 1; let hashmaps = 2;\n".to_owned()),
        ("d.rs", "fn reset_values() {}\nfn merge_base() {}\nstruct Widget;\n".to_owned()),
    ]);
    for name in [
        "my_token",
        "cut_name",
        "fileName",
        "hashMaps",
        "set_value",
        "a.merge_base",
        "Repo::Widget",
    ] {
        for command in ["search", "context"] {
            let said = desk.run(&[command, name]);
            let all = [said.stdout, said.stderr].concat();
            assert!(!all.contains("occurs in no searched file"), "{command} {name}: {all}");
        }
    }
    let said = desk.run(&["search", "no_such_name"]);
    let all = [said.stdout, said.stderr].concat();
    assert!(all.contains("'no_such_name' occurs in no searched file"), "{all}");
    // What was left out may have it.
    desk.write("large.txt", format!("{}\nno_such_name\n", "x ".repeat(600_000)));
    let said = desk.run(&["search", "no_such_name"]);
    let all = [said.stdout, said.stderr].concat();
    assert!(!all.contains("occurs in no searched file"), "{all}");
}

#[test]
fn of_several_definitions_the_one_with_a_body_is_whole() {
    let lines: Vec<_> =
        (0..60).map(|n| format!("        let step_{n} = self.step({n});\n")).collect();
    let lines = lines.concat();
    let body = format!(
        "impl T for X {{\n    fn zebra_thing(&self) {{\n{lines}        // the end\n    }}\n}}\n"
    );
    let desk = committed(&[
        ("t.rs", "trait T {\n    fn zebra_thing(&self);\n}\n".to_owned()),
        ("i.rs", body),
    ]);
    let shown = desk.colony(&["context", "zebra_thing", "--budget", "2000"]);
    assert!(shown.contains("// the end") && shown.contains("let step_30 "), "{shown}");
}
