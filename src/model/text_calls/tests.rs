use super::*;
use proptest::prelude::*;
use serde_json::json;

fn tools() -> Vec<ToolSpec> {
    let function = |name: &str, properties: Value| ToolSpec::Function {
        name: name.to_owned(),
        description: String::new(),
        strict: false,
        parameters: json!({"type": "object", "properties": properties}),
    };
    vec![
        function(
            "read_file",
            json!({"file_path": {"type": "string"}, "limit": {"type": "integer"}, "all": {"type": "boolean"}}),
        ),
        function(
            "shell",
            json!({"command": {"type": "array", "items": {"type": "string"}}}),
        ),
        function("list_dir", json!({})),
        ToolSpec::Custom {
            name: "apply_patch".to_owned(),
            description: String::new(),
            format: json!({}),
        },
    ]
}

/// What is said, and what is called.
fn read(pieces: &[&str]) -> (String, Vec<(String, Value)>) {
    let mut calls = TextCalls::new("qwen3-coder", &tools(), None);
    let mut said: String = pieces.iter().map(|piece| calls.take((*piece).to_owned())).collect();
    let called = match calls.finish(true) {
        Ok(called) => called,
        Err(text) => {
            said.push_str(&text);
            Vec::new()
        }
    };
    let called = called.into_iter().map(|call| {
        let arguments = serde_json::from_str(&call.arguments).expect("JSON");
        (call.name, arguments)
    });
    (said, called.collect())
}

/// Answers that are one call of `read_file` with `{"file_path": "a"}`.
const ONE: &[&str] = &[
    // Bare, in all the keys.
    r#"{"name": "read_file", "arguments": {"file_path": "a"}}"#,
    "\n  {\"name\":\"read_file\",\"parameters\":{\"file_path\":\"a\"}}\n",
    r#"{"name": "read_file", "arguments": "{\"file_path\": \"a\"}"}"#,
    r#"{"arguments": {"file_path": "a"}, "name": "read_file"}"#,
    r#"{"type": "function", "name": "read_file", "parameters": {"file_path": "a"}}"#,
    r#"{"type": "function", "function": {"name": "read_file", "arguments": {"file_path": "a"}}}"#,
    r#"{"function": {"name": "read_file", "arguments": {"file_path": "a"}}}"#,
    r#"{"function": "read_file", "parameters": {"file_path": "a"}}"#,
    r#"{"tool": "read_file", "args": {"file_path": "a"}}"#,
    r#"{"tool_name": "read_file", "parameters": {"file_path": "a"}}"#,
    r#"{"id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": "{\"file_path\": \"a\"}"}}"#,
    r#"{"tool_calls": [{"name": "read_file", "arguments": {"file_path": "a"}}]}"#,
    r#"{"function_call": {"name": "read_file", "arguments": {"file_path": "a"}}}"#,
    r#"{"recipient_name": "functions.read_file", "parameters": {"file_path": "a"}}"#,
    r#"[{"name": "read_file", "arguments": {"file_path": "a"}}]"#,
    "{'name': 'read_file', 'arguments': {'file_path': 'a'}}",
    "{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\",}}",
    "{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}<|im_end|>",
    // In a fenced block.
    "```json\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}\n```",
    "```\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}\n```",
    "```tool_call\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}\n```\n",
    "```xml\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}\n</tool_call>\n```",
    "```tool_code\nread_file(file_path=\"a\")\n```",
    "```tool_code\nprint(read_file(file_path='a'))\n```",
    // Hermes and Qwen.
    "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}\n</tool_call>",
    "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}",
    "<tool_calls>\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}\n</tool_call>\n</tool_calls>",
    "<function_call>{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}</function_call>",
    // Qwen Coder.
    "<tool_call>\n<function=read_file>\n<parameter=file_path>\na\n</parameter>\n</function>\n</tool_call>",
    "<function=read_file>\n<parameter=file_path>\na\n</parameter>\n</function>\n</tool_call>",
    "<function=read_file><parameter=file_path>a</parameter></function>",
    // GLM.
    "<tool_call>read_file\n<arg_key>file_path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
    "<tool_call>read_file<arg_key>file_path</arg_key><arg_value>a</arg_value></tool_call>",
    // Llama.
    "<|python_tag|>{\"name\": \"read_file\", \"parameters\": {\"file_path\": \"a\"}}<|eom_id|>",
    "<function=read_file>{\"file_path\": \"a\"}</function>",
    "[read_file(file_path=\"a\")]",
    // Mistral.
    "[TOOL_CALLS][{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}]",
    "[TOOL_CALLS] [{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}, \"id\": \"aB3dE5fG7\"}]</s>",
    "[TOOL_CALLS]read_file{\"file_path\": \"a\"}",
    "[TOOL_CALLS]read_file[ARGS]{\"file_path\": \"a\"}",
    "[TOOL_CALLS]read_file[CALL_ID]aB3dE5fG7[ARGS]{\"file_path\": \"a\"}",
    // DeepSeek.
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"file_path\": \"a\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{\"file_path\": \"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    // Kimi.
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"file_path\": \"a\"}<|tool_call_end|><|tool_calls_section_end|>",
    // gpt-oss.
    "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{\"file_path\": \"a\"}<|call|>",
    "<|start|>assistant<|channel|>commentary to=functions.read_file<|message|>{\"file_path\": \"a\"}",
    // Granite, Phi, Command R, MiniMax.
    "<|tool_call|>[{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}]",
    "<|tool_call|>[{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}]<|/tool_call|>",
    "functools[{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}]",
    "<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"read_file\", \"parameters\": {\"file_path\": \"a\"}}]<|END_ACTION|>",
    "<minimax:tool_call>\n<invoke name=\"read_file\">\n<parameter name=\"file_path\">a</parameter>\n</invoke>\n</minimax:tool_call>",
    "<function_calls>\n<invoke name=\"read_file\">\n<parameter name=\"file_path\">a</parameter>\n</invoke>\n</function_calls>",
];

/// Answers that are text, whatever stands in them.
const NONE: &[&str] = &[
    "",
    "  \n",
    "Done.",
    "I will read it: {\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}",
    "{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}\nThat is the call.",
    "Like this:\n```json\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}\n```",
    "```json\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}\n```\nRun it.",
    "```json\n{\"name\": \"my-app\", \"version\": \"1.0.0\"}\n```",
    "```json\n{\"name\": \"read_file\", \"version\": \"1.0.0\"}\n```",
    "```rust\nfn read_file(a: &str) {}\n```",
    "```python\nprint(\"read_file\")\n```",
    "```python\nread_file(\"a\")\n```",
    "```\nread_file(file_path=\"a\")\n```",
    "{\"name\": \"other_tool\", \"arguments\": {}}",
    "{\"name\": \"read_file\"}",
    "{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}, \"why\": \"to look\"}",
    "{\"name\": \"read_file\", \"arguments\": [1]}",
    "{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"",
    "{\"type\": \"object\", \"name\": \"read_file\", \"parameters\": {}}",
    "{\"file_path\": \"a\"}",
    "{}",
    "[]",
    "[1, 2]",
    "[[{\"name\": \"read_file\", \"arguments\": {}}]]",
    "[read_file]",
    "[read_file](docs/read_file.md) reads a file.",
    "[read_file(file_path=\"a\")] is how it is called.",
    "[read_file(\"a\")]",
    "[other(file_path=\"a\")]",
    "read_file(file_path=\"a\")",
    "<tool_call> is a tag.",
    "<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>",
    "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}</tool_call> and more",
    "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a</tool_call>",
    "<tool_call>read_file</tool_call> reads.",
    "<function=read_file><parameter=file_path>a",
    "<function=read_file><parameter=file_path>a</parameter><parameter=file_path>b</parameter></function>",
    "<function=other></function>",
    "<html>\n<body></body>\n</html>",
    "[TOOL_CALLS]",
    "[TOOL_CALLS]other{\"a\": 1}",
    "[TODO] read_file",
    "functools is a module.",
    "<|channel|>commentary<|message|>Thinking aloud.",
    "<|python_tag|>print(1)",
    "<invoke name=\"other\"></invoke>",
];

#[test]
fn an_answer_that_is_a_call_is_one_wherever_the_pieces_end() {
    let wanted = vec![("read_file".to_owned(), json!({"file_path": "a"}))];
    for text in ONE {
        assert_eq!(read(&[text]), (String::new(), wanted.clone()), "{text}");
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(read(&letters), (String::new(), wanted.clone()), "{text}, by letters");
    }
}

#[test]
fn all_else_is_said_as_it_is() {
    for text in NONE {
        assert_eq!(read(&[text]), ((*text).to_owned(), Vec::new()), "{text}");
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(read(&letters), ((*text).to_owned(), Vec::new()), "{text}, by letters");
    }
}

#[test]
fn several_calls_and_values_of_every_type() {
    let table = [
        (
            "<tool_call>\n{\"name\": \"list_dir\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"shell\", \"arguments\": \
             {\"command\": [\"echo\", \"</tool_call>\"]}}\n</tool_call>",
            vec![
                ("list_dir", json!({})),
                ("shell", json!({"command": ["echo", "</tool_call>"]})),
            ],
        ),
        (
            "<function=read_file>\n<parameter=file_path>\n  a </parameter> b\n\n</parameter>\n<parameter=limit>\n5\n</parameter>\n\
             <parameter=all>\nTrue\n</parameter>\n</function>",
            vec![(
                "read_file",
                json!({"file_path": "  a </parameter> b\n", "limit": 5, "all": true}),
            )],
        ),
        (
            "[list_dir(), shell(command=[\"ls\", '-l'])]",
            vec![("list_dir", json!({})), ("shell", json!({"command": ["ls", "-l"]}))],
        ),
        (
            "{\"name\": \"list_dir\", \"parameters\": {}}; {\"name\": \"list_dir\", \"parameters\": {}}",
            vec![("list_dir", json!({})), ("list_dir", json!({}))],
        ),
        (
            "[TOOL_CALLS]list_dir{}[TOOL_CALLS]list_dir[ARGS]{}",
            vec![("list_dir", json!({})), ("list_dir", json!({}))],
        ),
        (
            "{\"name\": \"apply_patch\", \"arguments\": \"*** Begin Patch\\n*** End Patch\"}",
            vec![("apply_patch", json!({"input": "*** Begin Patch\n*** End Patch"}))],
        ),
        (
            "{\"name\": \"apply_patch\", \"arguments\": {\"input\": \"*** Begin Patch\n*** End Patch\"}}",
            vec![("apply_patch", json!({"input": "*** Begin Patch\n*** End Patch"}))],
        ),
    ];
    for (text, wanted) in table {
        let wanted: Vec<(String, Value)> = wanted
            .into_iter()
            .map(|(name, given)| (name.to_owned(), given))
            .collect();
        assert_eq!(read(&[text]), (String::new(), wanted), "{text}");
    }
    let many = r#"{"name": "list_dir", "arguments": {}}"#.repeat(33);
    assert_eq!(read(&[&many]), (many.clone(), Vec::new()));
}

/// A call in every form that carries its arguments as JSON.
fn as_json(name: &str, arguments: &Value) -> Vec<String> {
    let text = Value::String(arguments.to_string());
    let (call, with_parameters) = (
        json!({"name": name, "arguments": arguments}),
        json!({"name": name, "parameters": arguments}),
    );
    let pretty = format!("{call:#}");
    vec![
        call.to_string(),
        with_parameters.to_string(),
        pretty.clone(),
        format!("[{call}]"),
        json!({"name": name, "arguments": text}).to_string(),
        json!({"type": "function", "function": call}).to_string(),
        json!({"tool_calls": [{"id": "1", "type": "function", "function": {"name": name, "arguments": text}}]})
            .to_string(),
        json!({"tool": name, "input": arguments}).to_string(),
        format!("```json\n{pretty}\n```"),
        format!("```\n{call}\n```"),
        format!("<tool_call>\n{call}\n</tool_call>"),
        format!("<tool_call>\n{call}"),
        format!("<tool_calls>[{call}]</tool_calls>"),
        format!("<function_call>{call}</function_call>"),
        format!("<|python_tag|>{with_parameters}<|eom_id|>"),
        format!("<function={name}>{arguments}</function>"),
        format!("[TOOL_CALLS] [{call}]</s>"),
        format!("[TOOL_CALLS]{name}{arguments}"),
        format!("[TOOL_CALLS]{name}[ARGS]{arguments}"),
        format!(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        ),
        format!(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        ),
        format!(
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{arguments}<|tool_call_end|><|tool_calls_section_end|>"
        ),
        format!("<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"),
        format!("<|tool_call|>[{call}]<|/tool_call|>"),
        format!("functools[{call}]"),
        format!(
            "<|START_ACTION|>[{}]<|END_ACTION|>",
            json!({"tool_call_id": "0", "tool_name": name, "parameters": arguments})
        ),
    ]
}

/// The same where each argument stands by itself.
fn by_argument(name: &str, arguments: &Value) -> Vec<String> {
    let given: Vec<(&String, String)> = arguments
        .as_object()
        .expect("an object")
        .iter()
        .map(|(key, value)| (key, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let all =
        |one: &dyn Fn(&str, &str) -> String| -> String { given.iter().map(|(key, value)| one(key, value)).collect() };
    let qwen = all(&|key, value| format!("<parameter={key}>\n{value}\n</parameter>\n"));
    let glm = all(&|key, value| format!("\n<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>"));
    let invoked = all(&|key, value| format!("<parameter name=\"{key}\">{value}</parameter>\n"));
    let python: Vec<String> = arguments
        .as_object()
        .expect("an object")
        .iter()
        .map(|(key, value)| format!("{key}={}", value.to_string().replace("true", "True")))
        .collect();
    let python = python.join(", ");
    vec![
        format!("<tool_call>\n<function={name}>\n{qwen}</function>\n</tool_call>"),
        format!("<function={name}>\n{qwen}</function>"),
        format!("<tool_call>{name}{glm}\n</tool_call>"),
        format!("<function_calls>\n<invoke name=\"{name}\">\n{invoked}</invoke>\n</function_calls>"),
        format!("<minimax:tool_call>\n<invoke name=\"{name}\">\n{invoked}</invoke>\n</minimax:tool_call>"),
        format!("[{name}({python})]"),
        format!("```tool_code\nprint({name}({python}))\n```"),
    ]
}

/// Whatever a call carries, each form gives it back to the letter.
#[test]
fn what_a_call_carries_is_the_same_in_every_form() {
    let calls = [
        (
            "read_file",
            json!({"file_path": "src/main.rs", "limit": 40, "all": true}),
        ),
        ("list_dir", json!({})),
        (
            "shell",
            json!({"command": ["bash", "-lc", "grep -rn \"a\" . | head -5 && echo '</parameter>'"]}),
        ),
        ("read_file", json!({"file_path": "größe/日本語 😀.txt"})),
        (
            "read_file",
            json!({"file_path": "{\"name\": \"shell\", \"arguments\": {}}"}),
        ),
        ("read_file", json!({"file_path": "fn f() {\n    [1, 2]\n}\n"})),
        (
            "read_file",
            json!({"file_path": "\n\n  # Title\n\n```json\n{}\n```\n\n"}),
        ),
        (
            "read_file",
            json!({"file_path": "<tool_call> </tool_call> <parameter=x> </function"}),
        ),
        ("read_file", json!({"file_path": "C:\\dir\\new 'quoted' \"twice\""})),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Add File: a\n+{\"x\": 1}\n*** End Patch"}),
        ),
    ];
    let mut count = 0;
    for (name, arguments) in calls {
        let wanted = vec![(name.to_owned(), arguments.clone())];
        for text in as_json(name, &arguments)
            .into_iter()
            .chain(by_argument(name, &arguments))
        {
            assert_eq!(read(&[&text]), (String::new(), wanted.clone()), "{text}");
            // In prose it is prose.
            for prose in [
                format!("This is it: {text}"),
                format!("{text}\nThat is how it is written."),
            ] {
                assert_eq!(read(&[&prose]), (prose.clone(), Vec::new()), "{prose}");
            }
            count += 3;
        }
    }
    assert!(count >= 900, "{count}");
}

#[test]
fn what_cannot_become_a_call_is_shown_at_once() {
    for (text, at) in [
        ("Hello there.", 1),
        ("{\"colour\": 1}", 3),
        ("{\"name\": \"my-app\"", 11),
        ("```rust\nfn", 4),
        ("[1]", 2),
        ("[x](y)", 2),
        ("<b>bold</b>", 2),
        ("**bold**", 1),
    ] {
        let mut calls = TextCalls::new("qwen3", &tools(), None);
        let shown = text
            .chars()
            .position(|letter| !calls.take(letter.to_string()).is_empty());
        assert_eq!(shown.map(|index| index + 1), Some(at), "{text}");
    }
    let mut calls = TextCalls::new("qwen3", &tools(), None);
    let long = format!(
        "{{\"name\": \"list_dir\", \"arguments\": {{\"x\": \"{}",
        "y".repeat(MOST_HELD)
    );
    assert_eq!(calls.take(long.clone()), long, "no more is held than there may be");
}

#[test]
fn it_depends_on_the_model_the_person_and_the_tools() {
    let call = ONE[0];
    for (model, wanted, tools, is_call) in [
        ("qwen3:8b", None, tools(), true),
        ("openai/gpt-oss-20b", None, tools(), true),
        ("some-model", None, tools(), true),
        ("gpt-5.2", None, tools(), false),
        ("anthropic/claude-opus-4.1", None, tools(), false),
        ("google/gemini-2.5-pro", None, tools(), false),
        ("gpt-5.2", Some(true), tools(), true),
        ("qwen3:8b", Some(false), tools(), false),
        ("qwen3:8b", None, Vec::new(), false),
    ] {
        let mut calls = TextCalls::new(model, &tools, wanted);
        let said = calls.take(call.to_owned());
        assert_eq!(
            said.is_empty() && calls.finish(true).is_ok(),
            is_call,
            "{model} {wanted:?}"
        );
    }
    // Cut off, or beside calls as they should be.
    let mut calls = TextCalls::new("qwen3:8b", &tools(), None);
    calls.take(call.to_owned());
    assert_eq!(calls.finish(false), Err(call.to_owned()));
}

proptest! {
    #[test]
    fn nothing_is_lost_or_made_up(head in "[\\[{`<a-z ]{0,6}", at in 0..ONE.len(), tail in "[\\]}>`a-z \n]{0,6}", cut in 0usize..400) {
        let text = format!("{head}{}{tail}", ONE[at]);
        let cut = text.char_indices().map(|(at, _)| at).nth(cut % text.chars().count()).unwrap_or(0);
        let (said, called) = read(&[&text[..cut], &text[cut..]]);
        prop_assert!(called.is_empty() && said == text || said.is_empty() && called.len() == 1, "{text}");
        if !called.is_empty() {
            prop_assert_eq!(&called[0].0, "read_file");
        }
        let (said, called) = read(&[&text[..cut]]);
        prop_assert!(called.is_empty() && said == text[..cut] || said.is_empty() && called.len() == 1);
    }

    #[test]
    fn any_text_is_borne(text in "[{}\\[\\]<>|\"'=/:,`a-z_\n ]{0,80}") {
        let (said, called) = read(&[&text]);
        prop_assert!(called.is_empty() && said == text || said.is_empty());
    }
}
