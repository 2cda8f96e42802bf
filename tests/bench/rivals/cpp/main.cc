/* OpenTelemetry's C++ SDK on the spans of tests/bench/programs/spans.h: batch processor, OTLP/HTTP exporter, a flush
 * after each block.
 *
 *   rival-cpp URL none|gzip SPANS KERNELS_FILE     prints one line of JSON
 */
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "opentelemetry/exporters/otlp/otlp_http_exporter_factory.h"
#include "opentelemetry/exporters/otlp/otlp_http_exporter_options.h"
#include "opentelemetry/sdk/resource/resource.h"
#include "opentelemetry/sdk/trace/batch_span_processor_factory.h"
#include "opentelemetry/sdk/trace/batch_span_processor_options.h"
#include "opentelemetry/sdk/trace/tracer_provider.h"
#include "opentelemetry/trace/span.h"
#include "opentelemetry/trace/span_context.h"
#include "opentelemetry/trace/span_startoptions.h"
#include "opentelemetry/trace/tracer.h"
#include "opentelemetry/version.h"

namespace common = opentelemetry::common;
namespace nostd = opentelemetry::nostd;
namespace otlp = opentelemetry::exporter::otlp;
namespace sdk = opentelemetry::sdk;
namespace trace = opentelemetry::trace;

namespace
{

constexpr size_t block = 8192;

struct kernel {
    std::string name, signature, function;
};

/* The numbers of one span; every program makes the same ones. */
struct numbers {
    uint64_t id, bits, kernel;
};

class generator
{
  public:
    numbers next(size_t kernels)
    {
        uint64_t id = random(), bits = random();
        return {id, bits, bits % kernels};
    }

  private:
    uint64_t random()
    {
        uint64_t x = (state_ += 0x9e3779b97f4a7c15u);
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    }
    uint64_t state_ = 42;
};

std::vector<kernel> read_kernels(const char *path)
{
    std::vector<kernel> kernels;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        kernel made;
        std::getline(fields, made.name, '\t');
        std::getline(fields, made.signature, '\t');
        std::getline(fields, made.function, '\t');
        kernels.push_back(made);
    }
    return kernels;
}

/* Of the whole process, all threads. */
double cpu_ns()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    auto ns = [](const timeval &time) { return (double)time.tv_sec * 1e9 + (double)time.tv_usec * 1e3; };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
}

/* What making the numbers alone costs, which is no exporter's doing. */
uint64_t empty_loop(size_t spans, size_t kernels)
{
    generator made;
    uint64_t sum = 0;
    for (size_t i = 0; i < spans; i++) {
        numbers n = made.next(kernels);
        sum += n.id ^ n.bits ^ n.kernel;
    }
    return sum;
}

std::unique_ptr<sdk::trace::TracerProvider> new_provider(const char *url, const char *compression)
{
    otlp::OtlpHttpExporterOptions exporter;
    exporter.url = url;
    exporter.content_type = otlp::HttpRequestContentType::kBinary;
    exporter.compression = compression;
    sdk::trace::BatchSpanProcessorOptions batch;
    batch.max_queue_size = 4 * block;
    batch.max_export_batch_size = block;
    batch.schedule_delay_millis = std::chrono::milliseconds(60000);
    return std::make_unique<sdk::trace::TracerProvider>(
        sdk::trace::BatchSpanProcessorFactory::Create(otlp::OtlpHttpExporterFactory::Create(exporter), batch),
        sdk::resource::Resource::Create({{"service.name", "bench"}}));
}

trace::SpanContext parent_of(uint64_t i)
{
    uint8_t trace_id[16];
    for (size_t byte = 0; byte < 8; byte++)
        trace_id[byte] = (uint8_t)(i / block >> 8 * byte);
    memcpy(trace_id + 8, "tracetr", 8);
    uint8_t span_id[8];
    memcpy(span_id, "parents", 8);
    return {trace::TraceId(trace_id), trace::SpanId(span_id),
            trace::TraceFlags(trace::TraceFlags::kIsSampled), true};
}

void make_span(trace::Tracer &tracer, trace::StartSpanOptions &options, uint64_t i, const numbers &n,
               const kernel &which)
{
    std::chrono::nanoseconds start(1790000000000000000 + (int64_t)i * 5000);
    std::chrono::nanoseconds length((int64_t)(n.id & 0xffff));
    options.start_system_time = common::SystemTimestamp(start);
    options.start_steady_time = common::SteadyTimestamp(start);
    auto span = tracer.StartSpan(which.name,
                                 {{"gpu.kernel.name", nostd::string_view(which.signature)},
                                  {"code.function.name", nostd::string_view(which.function)},
                                  {"gpu.grid.x", (int64_t)(1 + (n.bits >> 20 & 1023))},
                                  {"gpu.grid.y", (int64_t)(1 + (n.kernel & 3))},
                                  {"gpu.grid.z", (int64_t)1},
                                  {"gpu.block.x", (int64_t)128 << (n.kernel & 1)},
                                  {"gpu.block.y", (int64_t)1},
                                  {"gpu.block.z", (int64_t)1},
                                  {"gpu.stream.id", (int64_t)(7 + (n.bits >> 60 & 3))},
                                  {"gpu.correlation.id", (int64_t)(1000 + i)}},
                                 options);
    trace::EndSpanOptions end;
    end.end_steady_time = common::SteadyTimestamp(start + length);
    span->End(end);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: rival-cpp URL none|gzip SPANS KERNELS_FILE\n");
        return 2;
    }
    size_t spans = strtoul(argv[3], nullptr, 10);
    std::vector<kernel> kernels = read_kernels(argv[4]);
    double began = cpu_ns();
    uint64_t sum = empty_loop(spans, kernels.size());
    double empty = cpu_ns() - began;

    began = cpu_ns();
    auto provider = new_provider(argv[1], argv[2]);
    auto tracer = provider->GetTracer("bench");
    generator made;
    for (size_t i = 0; i < spans;) {
        trace::StartSpanOptions options;
        options.kind = trace::SpanKind::kInternal;
        options.parent = parent_of(i);
        for (size_t end = std::min(i + block, spans); i < end; i++) {
            numbers n = made.next(kernels.size());
            make_span(*tracer, options, i, n, kernels[n.kernel]);
        }
        if (!provider->ForceFlush()) {
            fprintf(stderr, "cpp: a flush failed\n");
            return 1;
        }
    }
    provider->Shutdown();
    double taken = cpu_ns() - began;
    printf("{\"version\":\"%s, g++ %d.%d\",\"spans\":%zu,\"checksum\":\"%" PRIu64 "\",\"cpu_ns\":%.1f,"
           "\"empty_ns\":%.1f}\n",
           OPENTELEMETRY_VERSION, __GNUC__, __GNUC_MINOR__, spans, sum, (taken - empty) / (double)spans,
           empty / (double)spans);
}
