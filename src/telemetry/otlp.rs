//! Entries as OTLP has them, as protobuf or as JSON.

use super::line::Resource;
use super::record::{Count, Entry, Fields, Place, Record, Span, Value, now};
use crate::config::otel::Wire;
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Status, span};
use prost::Message;
use serde::Serialize;

/// What is sent of a batch; its entries are all of one kind.
pub(super) fn encode(wire: Wire, resource: &Resource, entries: &[Entry]) -> Vec<u8> {
    let resource = Some(v1::Resource {
        attributes: resource.0.iter().map(|(name, value)| pair(name, value)).collect(),
        ..v1::Resource::default()
    });
    let scope = Some(InstrumentationScope {
        name: "countersign".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    });
    match entries.first() {
        Some(Entry::Span(_)) => {
            let spans = entries.iter().filter_map(|entry| match entry {
                Entry::Span(one) => Some(span(one)),
                _ => None,
            });
            let scope_spans = vec![ScopeSpans {
                scope,
                spans: spans.collect(),
                ..ScopeSpans::default()
            }];
            let resource_spans = vec![ResourceSpans {
                resource,
                scope_spans,
                ..ResourceSpans::default()
            }];
            written(wire, &ExportTraceServiceRequest { resource_spans })
        }
        Some(Entry::Count(_)) => {
            let metrics = entries.iter().filter_map(|entry| match entry {
                Entry::Count(count) => Some(count_of(count)),
                _ => None,
            });
            let scope_metrics = vec![ScopeMetrics {
                scope,
                metrics: metrics.collect(),
                ..ScopeMetrics::default()
            }];
            let resource_metrics = vec![ResourceMetrics {
                resource,
                scope_metrics,
                ..ResourceMetrics::default()
            }];
            written(wire, &ExportMetricsServiceRequest { resource_metrics })
        }
        Some(Entry::Record(_)) | None => {
            let records = entries.iter().filter_map(|entry| match entry {
                Entry::Record(one) => Some(record(one)),
                _ => None,
            });
            let scope_logs = vec![ScopeLogs {
                scope,
                log_records: records.collect(),
                ..ScopeLogs::default()
            }];
            let resource_logs = vec![ResourceLogs {
                resource,
                scope_logs,
                ..ResourceLogs::default()
            }];
            written(wire, &ExportLogsServiceRequest { resource_logs })
        }
    }
}

/// How many entries the collector says it has not taken, and why, in an answer that is otherwise a success.
pub(super) fn rejected(wire: Wire, body: &[u8]) -> Option<(i64, String)> {
    // The three kinds of answers have the same shape.
    let answer: ExportLogsServiceResponse = match wire {
        Wire::Json => {
            let value: serde_json::Value = serde_json::from_slice(body).ok()?;
            let partial = value.get("partialSuccess")?;
            let counts = ["rejectedLogRecords", "rejectedSpans", "rejectedDataPoints"];
            let count = counts.iter().find_map(|name| partial.get(name))?;
            let count = count.as_i64().or_else(|| count.as_str()?.parse().ok())?;
            let words = partial.get("errorMessage").and_then(serde_json::Value::as_str);
            return Some((count, words.unwrap_or_default().to_owned())).filter(|(count, _)| *count > 0);
        }
        Wire::Binary => ExportLogsServiceResponse::decode(body).ok()?,
        Wire::Grpc => ExportLogsServiceResponse::decode(body.get(5..)?).ok()?,
    };
    let partial = answer.partial_success?;
    Some((partial.rejected_log_records, partial.error_message)).filter(|(count, _)| *count > 0)
}

fn written<M: Message + Serialize>(wire: Wire, message: &M) -> Vec<u8> {
    match wire {
        Wire::Json => serde_json::to_vec(message).unwrap_or_default(),
        Wire::Binary => message.encode_to_vec(),
        Wire::Grpc => {
            // Not compressed, then the length.
            let mut frame = vec![0];
            let length = u32::try_from(message.encoded_len()).unwrap_or(u32::MAX);
            frame.extend_from_slice(&length.to_be_bytes());
            frame.extend_from_slice(&message.encode_to_vec());
            frame
        }
    }
}

fn any(value: &Value) -> AnyValue {
    let value = match value {
        Value::Text(text) => any_value::Value::StringValue(text.clone()),
        Value::Number(number) => any_value::Value::IntValue(*number),
        Value::Texts(texts) => any_value::Value::ArrayValue(ArrayValue {
            values: texts.iter().map(|text| any(&Value::Text(text.clone()))).collect(),
        }),
    };
    AnyValue { value: Some(value) }
}

fn pair(name: &str, value: &Value) -> KeyValue {
    KeyValue {
        key: name.to_owned(),
        value: Some(any(value)),
        ..KeyValue::default()
    }
}

fn pairs(fields: &Fields) -> Vec<KeyValue> {
    fields.0.iter().map(|(name, value)| pair(name, value)).collect()
}

fn record(record: &Record) -> LogRecord {
    let (severity, text) = match record.is_failure {
        true => (SeverityNumber::Error, "ERROR"),
        false => (SeverityNumber::Info, "INFO"),
    };
    let (trace_id, span_id) = ids(record.place);
    LogRecord {
        time_unix_nano: record.at,
        observed_time_unix_nano: now().max(record.at),
        severity_number: severity.into(),
        severity_text: text.to_owned(),
        body: Some(any(&Value::Text(record.name.to_owned()))),
        attributes: pairs(&record.fields),
        event_name: record.name.to_owned(),
        trace_id,
        span_id,
        ..LogRecord::default()
    }
}

fn ids(place: Option<Place>) -> (Vec<u8>, Vec<u8>) {
    place
        .map(|place| (place.trace.to_vec(), place.span.to_vec()))
        .unwrap_or_default()
}

fn span(one: &Span) -> opentelemetry_proto::tonic::trace::v1::Span {
    let (trace_id, span_id) = ids(Some(one.place));
    let event = |(at, name): &(u64, &str)| Event {
        time_unix_nano: *at,
        name: (*name).to_owned(),
        ..Event::default()
    };
    let kind = match one.is_client {
        true => SpanKind::Client,
        false => SpanKind::Internal,
    };
    let status = one.status.as_ref().map(|outcome| Status {
        message: outcome.as_ref().err().cloned().unwrap_or_default(),
        code: match outcome {
            Ok(()) => StatusCode::Ok,
            Err(_) => StatusCode::Error,
        }
        .into(),
    });
    opentelemetry_proto::tonic::trace::v1::Span {
        trace_id,
        span_id,
        trace_state: one.state.clone(),
        parent_span_id: one.parent.map(|parent| parent.to_vec()).unwrap_or_default(),
        name: one.name.clone(),
        kind: kind.into(),
        start_time_unix_nano: one.start,
        end_time_unix_nano: one.end,
        attributes: pairs(&one.fields),
        events: one.events.iter().map(event).collect(),
        dropped_events_count: one.dropped,
        status,
        // Sampled.
        flags: 1,
        links: Vec::<span::Link>::new(),
        dropped_attributes_count: 0,
        dropped_links_count: 0,
    }
}

fn count_of(count: &Count) -> Metric {
    let point = NumberDataPoint {
        attributes: pairs(&count.fields),
        start_time_unix_nano: count.start,
        time_unix_nano: count.at,
        value: Some(number_data_point::Value::AsInt(
            i64::try_from(count.value).unwrap_or(i64::MAX),
        )),
        ..NumberDataPoint::default()
    };
    Metric {
        name: count.name.to_owned(),
        description: "Turns of the person's in a conversation, counted at its end.".to_owned(),
        unit: "{turn}".to_owned(),
        data: Some(metric::Data::Sum(Sum {
            data_points: vec![point],
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
            is_monotonic: true,
        })),
        ..Metric::default()
    }
}
