// OpenTelemetry's Go SDK on the spans of tests/bench/programs/spans.h: batch processor, OTLP/HTTP exporter, a flush after each block.
//
//	sdk URL none|gzip SPANS KERNELS_FILE     prints one line of JSON
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const block = 8192

type kernel struct{ name, signature, function string }

// The numbers of one span; every program makes the same ones.
type numbers struct{ id, bits, kernel uint64 }

type generator struct{ state uint64 }

func (g *generator) random() uint64 {
	g.state += 0x9e3779b97f4a7c15
	x := g.state
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (g *generator) next(kernels int) numbers {
	id, bits := g.random(), g.random()
	return numbers{id, bits, bits % uint64(kernels)}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		os.Exit(1)
	}
}

func readKernels(path string) (kernels []kernel) {
	for _, line := range strings.Split(strings.TrimSpace(string(must(os.ReadFile(path)))), "\n") {
		field := strings.Split(line, "\t")
		kernels = append(kernels, kernel{field[0], field[1], field[2]})
	}
	return kernels
}

// Of the whole process, all threads.
func cpuNs() int64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// What making the numbers alone costs, which is no exporter's doing.
func emptyLoop(spans, kernels int) (sum uint64) {
	g := generator{42}
	for i := 0; i < spans; i++ {
		n := g.next(kernels)
		sum += n.id ^ n.bits ^ n.kernel
	}
	return sum
}

func parentOf(i int) context.Context {
	var traceID trace.TraceID
	for b := range 8 {
		traceID[b] = byte(i / block >> (8 * b))
	}
	copy(traceID[8:], "tracetr")
	var spanID trace.SpanID
	copy(spanID[:], "parents")
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled, Remote: true}))
}

func makeSpan(tracer trace.Tracer, parent context.Context, i int, n numbers, k *kernel) {
	start := time.Unix(0, 1790000000000000000+int64(i)*5000)
	_, span := tracer.Start(parent, k.name, trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(start),
		trace.WithAttributes(
			attribute.String("gpu.kernel.name", k.signature),
			attribute.String("code.function.name", k.function),
			attribute.Int64("gpu.grid.x", int64(1+(n.bits>>20&1023))),
			attribute.Int64("gpu.grid.y", int64(1+(n.kernel&3))),
			attribute.Int64("gpu.grid.z", 1),
			attribute.Int64("gpu.block.x", 128<<(n.kernel&1)),
			attribute.Int64("gpu.block.y", 1),
			attribute.Int64("gpu.block.z", 1),
			attribute.Int64("gpu.stream.id", int64(7+(n.bits>>60&3))),
			attribute.Int64("gpu.correlation.id", int64(1000+i))))
	span.End(trace.WithTimestamp(start.Add(time.Duration(n.id & 0xffff))))
}

func newProvider(url, compression string) *sdktrace.TracerProvider {
	kind := otlptracehttp.NoCompression
	if compression == "gzip" {
		kind = otlptracehttp.GzipCompression
	}
	exporter := must(otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(url),
		otlptracehttp.WithCompression(kind)))
	return sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithMaxQueueSize(4*block), sdktrace.WithMaxExportBatchSize(block),
			sdktrace.WithBatchTimeout(time.Minute)),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "bench"))))
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: sdk URL none|gzip SPANS KERNELS_FILE")
		os.Exit(2)
	}
	spans, kernels := must(strconv.Atoi(os.Args[3])), readKernels(os.Args[4])
	otel.SetErrorHandler(otel.ErrorHandlerFunc(check))
	began := cpuNs()
	sum := emptyLoop(spans, len(kernels))
	empty := cpuNs() - began

	began = cpuNs()
	provider := newProvider(os.Args[1], os.Args[2])
	tracer := provider.Tracer("bench")
	g := generator{42}
	for i := 0; i < spans; {
		parent := parentOf(i)
		for end := min(i+block, spans); i < end; i++ {
			n := g.next(len(kernels))
			makeSpan(tracer, parent, i, n, &kernels[n.kernel])
		}
		check(provider.ForceFlush(context.Background()))
	}
	check(provider.Shutdown(context.Background()))
	taken := cpuNs() - began
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"version": otel.Version() + ", " + runtime.Version(), "spans": spans, "checksum": fmt.Sprint(sum),
		"cpu_ns": float64(taken-empty) / float64(spans), "empty_ns": float64(empty) / float64(spans)}))
}
