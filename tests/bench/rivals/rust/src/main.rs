//! OpenTelemetry's Rust SDK on the spans of tests/bench/programs/spans.h: batch processor, OTLP/HTTP exporter, a flush after each
//! block.
//!
//!     rival-rust URL none|gzip SPANS KERNELS_FILE     prints one line of JSON
use opentelemetry::trace::{
    Span, SpanContext, SpanId, SpanKind, TraceContextExt, TraceFlags, TraceId, TraceState, Tracer,
    TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{Compression, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider,
};
use opentelemetry_sdk::Resource;
use std::time::{Duration, UNIX_EPOCH};

const BLOCK: usize = 8192;
const VERSION: &str = "0.33.1"; // as Cargo.toml pins it

/// Static texts: the cheapest that this API takes.
struct Kernel {
    name: &'static str,
    signature: &'static str,
    function: &'static str,
}

/// The numbers of one span; every program makes the same ones.
struct Numbers {
    id: u64,
    bits: u64,
    kernel: usize,
}

struct Generator(u64);

impl Generator {
    fn random(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d049bb133111eb);
        x ^ x >> 31
    }

    fn next(&mut self, kernels: usize) -> Numbers {
        let (id, bits) = (self.random(), self.random());
        Numbers {
            id,
            bits,
            kernel: (bits % kernels as u64) as usize,
        }
    }
}

fn read_kernels(path: &str) -> Vec<Kernel> {
    let text: &'static str = Box::leak(
        std::fs::read_to_string(path)
            .expect("the kernels' file")
            .into_boxed_str(),
    );
    let kernel = |line: &'static str| {
        let mut fields = line.split('\t');
        let mut field = || fields.next().expect("three fields a line");
        Kernel {
            name: field(),
            signature: field(),
            function: field(),
        }
    };
    text.lines().map(kernel).collect()
}

/// Of the whole process, all threads.
fn cpu_ns() -> i64 {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// What making the numbers alone costs, which is no exporter's doing.
fn empty_loop(spans: usize, kernels: usize) -> u64 {
    let mut generator = Generator(42);
    let mut sum = 0u64;
    for _ in 0..spans {
        let n = generator.next(kernels);
        sum = sum.wrapping_add(n.id ^ n.bits ^ n.kernel as u64);
    }
    sum
}

fn new_provider(url: &str, compression: &str) -> SdkTracerProvider {
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(url);
    if compression == "gzip" {
        exporter = exporter.with_compression(Compression::Gzip);
    }
    let config = BatchConfigBuilder::default()
        .with_max_queue_size(4 * BLOCK)
        .with_max_export_batch_size(BLOCK)
        .with_scheduled_delay(Duration::from_secs(60))
        .build();
    let processor = BatchSpanProcessor::builder(exporter.build().expect("an exporter"))
        .with_batch_config(config)
        .build();
    let resource = Resource::builder_empty()
        .with_attribute(KeyValue::new("service.name", "bench"))
        .build();
    SdkTracerProvider::builder()
        .with_span_processor(processor)
        .with_resource(resource)
        .build()
}

fn parent_of(i: usize) -> Context {
    let mut trace = [0u8; 16];
    trace[..8].copy_from_slice(&((i / BLOCK) as u64).to_le_bytes());
    trace[8..].copy_from_slice(b"tracetr\0");
    Context::new().with_remote_span_context(SpanContext::new(
        TraceId::from_bytes(trace),
        SpanId::from_bytes(*b"parents\0"),
        TraceFlags::SAMPLED,
        true,
        TraceState::default(),
    ))
}

fn make_span(tracer: &SdkTracer, parent: &Context, i: usize, n: &Numbers, kernel: &Kernel) {
    let start = UNIX_EPOCH + Duration::from_nanos(1790000000000000000 + i as u64 * 5000);
    let mut span = tracer
        .span_builder(kernel.name)
        .with_kind(SpanKind::Internal)
        .with_start_time(start)
        .with_attributes([
            KeyValue::new("gpu.kernel.name", kernel.signature),
            KeyValue::new("code.function.name", kernel.function),
            KeyValue::new("gpu.grid.x", 1 + (n.bits >> 20 & 1023) as i64),
            KeyValue::new("gpu.grid.y", 1 + (n.kernel & 3) as i64),
            KeyValue::new("gpu.grid.z", 1i64),
            KeyValue::new("gpu.block.x", 128i64 << (n.kernel & 1)),
            KeyValue::new("gpu.block.y", 1i64),
            KeyValue::new("gpu.block.z", 1i64),
            KeyValue::new("gpu.stream.id", 7 + (n.bits >> 60 & 3) as i64),
            KeyValue::new("gpu.correlation.id", 1000 + i as i64),
        ])
        .start_with_context(tracer, parent);
    span.end_with_timestamp(start + Duration::from_nanos(n.id & 0xffff));
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 5 {
        eprintln!("usage: rival-rust URL none|gzip SPANS KERNELS_FILE");
        std::process::exit(2);
    }
    let spans: usize = arguments[3].parse().expect("a number of spans");
    let kernels = read_kernels(&arguments[4]);
    let began = cpu_ns();
    let sum = empty_loop(spans, kernels.len());
    let empty = cpu_ns() - began;

    let began = cpu_ns();
    let provider = new_provider(&arguments[1], &arguments[2]);
    let tracer = provider.tracer("bench");
    let mut generator = Generator(42);
    let mut i = 0;
    while i < spans {
        let parent = parent_of(i);
        for _ in 0..BLOCK.min(spans - i) {
            let n = generator.next(kernels.len());
            make_span(&tracer, &parent, i, &n, &kernels[n.kernel]);
            i += 1;
        }
        provider.force_flush().expect("a flush");
    }
    provider.shutdown().expect("the end");
    let taken = cpu_ns() - began;
    println!(
        "{{\"version\":\"{VERSION}, {}\",\"spans\":{spans},\"checksum\":\"{sum}\",\"cpu_ns\":{},\"empty_ns\":{}}}",
        env!("COMPILER"),
        (taken - empty) as f64 / spans as f64,
        empty as f64 / spans as f64
    );
}
