//! What the provider does in a schedule: words in pieces, calls, failures, silence.

use super::dice::Dice;
use serde_json::{Value, json};

pub(super) fn make(dice: &mut Dice) -> Value {
    let mut calls = 0;
    let mut steps: Vec<Value> = (0..dice.below(6)).map(|_| step(dice, &mut calls)).collect();
    steps.push(json!({"repeat": true, "outputs": [{"say": "That is all."}]}));
    json!({"steps": steps, "chunk": 8})
}

fn step(dice: &mut Dice, calls: &mut u64) -> Value {
    let mut outputs = Vec::new();
    if dice.chance(30) {
        outputs.push(json!({"wait_ms": dice.below(200)}));
    }
    if dice.chance(12) {
        let status = *dice.pick(&[401, 429, 500, 503]).expect("some");
        outputs.push(json!({"fail": {"status": status}}));
        return outputs.into();
    }
    if dice.chance(4) {
        outputs.push(json!({"drop": true}));
        return outputs.into();
    }
    for _ in 0..dice.below(4) {
        outputs.push(match dice.below(10) {
            0..=2 => json!({"say": "A few words.", "delay_ms": dice.below(30)}),
            3 => json!({"think": "Hm, well.", "delay_ms": dice.below(30)}),
            4 => json!({"wait_ms": dice.below(300)}),
            _ => call(dice, calls),
        });
    }
    match dice.below(20) {
        0 => outputs.push(json!({"drop": true})),
        1 => outputs.push(json!({"stall": true})),
        2 => outputs.push(json!({"error_event": {"type": "error", "message": "It broke."}})),
        _ => outputs.push(json!({"say": "So far."})),
    }
    outputs.into()
}

fn call(dice: &mut Dice, calls: &mut u64) -> Value {
    *calls += 1;
    let id = format!("call-{calls}");
    let (tool, arguments) = match dice.below(10) {
        0..=3 => {
            let manner = *dice.pick(&["look", "work", "work", "deaf"]).expect("some");
            (manner, json!({"ms": dice.below(400)}))
        }
        4..=6 => {
            let host = format!("host-{calls}.example");
            ("ask", json!({ "host": host }))
        }
        7 | 8 => ("nobody", json!({})),
        _ => ("look", json!("{broken")),
    };
    json!({"call": {"tool": tool, "arguments": arguments, "id": id}})
}
