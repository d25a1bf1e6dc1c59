import { executedCalls } from './agent.js';
import type { Job, Side, Together } from './side.js';

/** One process of a measurement: does one job on one side, and prints what it measured as a line of JSON. */

const job: Job = JSON.parse(process.argv[2] ?? '{}');
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const open = async (): Promise<Side> => {
  if (job.side === 'restate') return (await import('./restate-side.js')).openRestate(job);
  if (job.side === 'langgraph') return (await import('./langgraph-side.js')).openLangGraph(job);
  if (job.side === 'holdfast') return (await import('./holdfast-side.js')).openHoldfast(job);
  return (await import('./dbos-side.js')).openDbos(job);
};

/** Keeps so many at work until all were done. */
async function manyAtOnce(count: number, atOnce: number, one: () => Promise<unknown>): Promise<void> {
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
}

const WARM_UP_AT_ONCE = 8;
const LOOK_MS = 100;
const forEver = (): Promise<never> => new Promise(() => setInterval(() => {}, 60_000));

/** What the process takes when nothing is left to collect. */
async function memoryBytes(): Promise<number> {
  for (let n = 0; n < 5; n++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return process.memoryUsage().rss;
}

async function work(side: Side): Promise<unknown> {
  const wanted = job.work;
  switch (wanted.type) {
    case 'runs': {
      await manyAtOnce(wanted.warmUp, WARM_UP_AT_ONCE, () => side.run(wanted.turns));
      const perSecond: number[] = [];
      for (const { atOnce, runs } of wanted.levels) {
        const begin = performance.now();
        await manyAtOnce(runs, atOnce, () => side.run(wanted.turns));
        perSecond.push(runs / ((performance.now() - begin) / 1000));
      }
      return perSecond;
    }
    case 'lengths': {
      await side.run(wanted.turns[0] ?? 1);
      const ms: number[] = [];
      for (const turns of wanted.turns) {
        const begin = performance.now();
        await side.run(turns);
        ms.push(performance.now() - begin);
      }
      return ms;
    }
    case 'decisions': {
      const ms: number[] = [];
      for (let n = 0; n < wanted.count; n++) ms.push(await side.decide(await side.pause()));
      // The first ones warm up.
      return ms.slice(Math.ceil(wanted.count / 10));
    }
    case 'together': {
      await manyAtOnce(wanted.runs / 10, WARM_UP_AT_ONCE * 4, () => side.run(1));
      const before = await memoryBytes();
      let peak = before;
      const watch = setInterval(() => {
        peak = Math.max(peak, process.memoryUsage().rss);
      }, LOOK_MS);
      const begin = performance.now();
      const each: number[] = [];
      await manyAtOnce(wanted.runs, wanted.runs, async () => {
        await side.run(wanted.turns);
        each.push(performance.now() - begin);
      });
      clearInterval(watch);
      return { each, bytes: peak - before } satisfies Together;
    }
    case 'die': {
      const half = (wanted.runs * wanted.turns) / 2;
      setInterval(() => {
        if (executedCalls() >= half) process.kill(process.pid, 'SIGKILL');
      }, 1);
      await manyAtOnce(wanted.runs, wanted.runs, () => side.start(wanted.turns));
      return forEver();
    }
    case 'paused': {
      // Code that is compiled and pools that have grown are no cost of a run that waits.
      await manyAtOnce(wanted.warmUp, 32, () => side.pause());
      const before = await memoryBytes();
      await manyAtOnce(wanted.count, 32, () => side.pause());
      await new Promise((resolve) => setTimeout(resolve, wanted.settleMs));
      say({ before, bytes: await memoryBytes() });
      return forEver();
    }
    case 'finish': {
      while ((await side.ended()) < wanted.runs) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      say('finished');
      return forEver();
    }
    case 'serve': {
      await manyAtOnce(wanted.runs, 16, () => side.start(wanted.turns));
      say('serves');
      return forEver();
    }
  }
}

const side = await open();
say('ready');
say(await work(side));
await side.stop();
process.exit(0);
