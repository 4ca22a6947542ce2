package relay

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the numbers of a node. Labels have few values, and none that a
// caller chooses. See docs/relay.md#metrics.
type metrics struct {
	handler       http.Handler
	requests      *prometheus.CounterVec
	latency       *prometheus.HistogramVec
	jobs          *prometheus.CounterVec
	jobTime       *prometheus.HistogramVec
	delivery      prometheus.Histogram
	redelivered   prometheus.Counter
	frames        *prometheus.CounterVec
	streamEnds    *prometheus.CounterVec
	pairings      *prometheus.CounterVec
	storageErrors prometheus.Counter
	storage       *prometheus.HistogramVec
}

var (
	fastBuckets    = []float64{.0005, .001, .002, .003, .005, .01, .015, .025, .05, .1, .25, 1}
	storageBuckets = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .05, .25, 1, 5}
	slowBuckets    = []float64{.1, .5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600}
)

func newMetrics(r *Relay) *metrics {
	name := func(s string) string { return "stagewhisper_relay_" + s }
	counter := func(s, help string) prometheus.CounterOpts { return prometheus.CounterOpts{Name: name(s), Help: help} }
	times := func(s, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name(s), Help: help, Buckets: buckets}
	}
	m := &metrics{
		requests:      prometheus.NewCounterVec(counter("requests_total", "Requests by route and status."), []string{"route", "status"}),
		latency:       prometheus.NewHistogramVec(times("request_seconds", "Time to answer, by route; a waiting GET of a job counts its wait.", fastBuckets), []string{"route"}),
		jobs:          prometheus.NewCounterVec(counter("jobs_total", "Jobs by purpose and the state they got to."), []string{"purpose", "state"}),
		jobTime:       prometheus.NewHistogramVec(times("job_seconds", "From the creation of a job to its end.", slowBuckets), []string{"state"}),
		delivery:      prometheus.NewHistogram(times("delivery_seconds", "From the creation of a job to its first delivery.", fastBuckets)),
		redelivered:   prometheus.NewCounter(counter("redeliveries_total", "Jobs delivered again because nobody acknowledged them.")),
		frames:        prometheus.NewCounterVec(counter("frames_total", "Frames written to streams."), []string{"side"}),
		streamEnds:    prometheus.NewCounterVec(counter("stream_ends_total", "Streams that ended, by reason."), []string{"side", "reason"}),
		pairings:      prometheus.NewCounterVec(counter("pairings_total", "Steps of pairings."), []string{"step"}),
		storageErrors: prometheus.NewCounter(counter("storage_errors_total", "Calls of the storage that did not succeed.")),
	}
	m.storage = prometheus.NewHistogramVec(times("storage_seconds", "Time of the calls of the storage.", storageBuckets), []string{"call"})
	reg := prometheus.NewRegistry()
	reg.MustRegister(m.storage, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reg.MustRegister(m.requests, m.latency, m.jobs, m.jobTime, m.delivery, m.redelivered, m.frames, m.streamEnds, m.pairings, m.storageErrors)
	for _, side := range []Side{ToAssistant, ToDesktop} {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name("streams"), Help: "Open streams.", ConstLabels: prometheus.Labels{"side": string(side)},
		}, func() float64 { return float64(r.hub.streams(side)) }))
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("nodes"), Help: "Live nodes of this relay."},
		func() float64 { return float64(r.nodes.count()) }))
	m.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m
}

func (m *metrics) request(route string, status int, took time.Duration) {
	if route == "" {
		route = "unknown"
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.latency.WithLabelValues(route).Observe(took.Seconds())
}

// timed observes a call of the storage when the function it returns is called.
func (m *metrics) timed(call string) func() {
	begun := time.Now()
	return func() { m.storage.WithLabelValues(call).Observe(time.Since(begun).Seconds()) }
}

func (m *metrics) pairing(step string) { m.pairings.WithLabelValues(step).Inc() }

func (m *metrics) finished(j *job, now time.Time) {
	m.jobs.WithLabelValues(j.Purpose, j.State).Inc()
	m.jobTime.WithLabelValues(j.State).Observe(now.Sub(time.UnixMilli(j.Created)).Seconds())
}
