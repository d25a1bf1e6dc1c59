import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type Registry } from 'prom-client';

const NANOS = 1e9;
const MICROS = 1e6;
/** Shorter spans say nothing: who scrapes twice at once gets the same share. */
const SHARE_OVER_MS = 1000;

/** What the process takes of its machine. Gives how to stop watching it. */
export function addProcessMetrics(registry: Registry): () => void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number | null): void => {
    const made = new Gauge({
      ...{ name: `holdfast_${name}`, help, registers },
      collect: () => {
        const value = read();
        if (value !== null) made.set(value);
      },
    });
  };
  const cpu = new Counter({
    ...{ name: 'holdfast_process_cpu_seconds_total', help: 'Time of processors that the process took.', registers },
    collect: () => {
      const { user, system } = process.cpuUsage();
      cpu.reset();
      cpu.inc((user + system) / MICROS);
    },
  });
  gauge('worker_cpu_usage_ratio', 'Share of all processors that the process took lately, from 0 to 1.', cpuShare());
  gauge('worker_memory_usage_bytes', 'Memory of the process.', () => process.memoryUsage.rss());
  gauge('process_heap_bytes', 'Memory that objects of JavaScript take.', () => process.memoryUsage().heapUsed);
  gauge('process_open_fds', 'Open files and connections.', openFiles);
  gauge('process_start_time_seconds', 'When the process started, in seconds since 1970.', startTime());
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  gauge('event_loop_delay_seconds', 'How late the 99th of 100 timers was since the last scrape.', () => {
    const seconds = delay.percentile(99) / NANOS;
    delay.reset();
    return Number.isFinite(seconds) ? seconds : 0;
  });
  return () => delay.disable();
}

const startTime = (): (() => number) => {
  const seconds = performance.timeOrigin / 1000;
  return () => seconds;
};

function cpuShare(): () => number {
  let last = { at: performance.now(), usage: process.cpuUsage() };
  let share = 0;
  return () => {
    const at = performance.now();
    if (at - last.at < SHARE_OVER_MS) return share;
    const { user, system } = process.cpuUsage(last.usage);
    share = Math.min(1, (user + system) / 1000 / (at - last.at) / availableParallelism());
    last = { at, usage: process.cpuUsage() };
    return share;
  };
}

/** Null where the system does not say. */
function openFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return null;
  }
}
