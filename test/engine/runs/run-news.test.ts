import { afterEach, describe, expect, it, vi } from 'vitest';
import { RunNews } from '../../../src/engine/streaming/run-news.js';

/** What processes tell each other of the runs that they change. */

interface Process {
  readonly news: RunNews;
  readonly heard: string[];
}

/** Processes whose notifications reach all, also the one that sent them, as those of PostgreSQL do. */
class Channel {
  readonly sent: string[] = [];
  readonly #processes: Process[] = [];
  #made = 0;

  join(): Process {
    const heard: string[] = [];
    const news = new RunNews({
      newId: () => `process-${++this.#made}`,
      send: async (payloads) => this.send(payloads),
      onChange: (runId, what) => heard.push(`${what} ${runId}`),
    });
    const process = { news, heard };
    this.#processes.push(process);
    news.greet();
    return process;
  }

  send(payloads: readonly string[]): void {
    this.sent.push(...payloads);
    for (const payload of payloads) for (const { news } of this.#processes) news.receive(payload);
  }

  close(): void {
    for (const { news } of this.#processes) news.close();
  }
}

describe('Processes', () => {
  let channel = new Channel();
  afterEach(() => {
    channel.close();
    channel = new Channel();
  });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const told = async (process: Process, count: number) => {
    await vi.waitFor(() => expect(process.heard).toHaveLength(count));
    return process.heard;
  };

  it('hear what another one does with the runs that they follow, and of no other run', async () => {
    const [api, worker] = [channel.join(), channel.join()];
    api.news.follow('run_a');
    worker.news.changed('run_b', 'run');
    worker.news.changed('run_a', 'log');
    expect(await told(api, 1)).toEqual(['log run_a']);
    worker.news.changed('run_a', 'run');
    expect(await told(api, 2)).toEqual(['log run_a', 'run run_a']);
    expect(worker.heard).toEqual([]);
  });

  it('hear of a change that came right before they followed', async () => {
    const [api, worker] = [channel.join(), channel.join()];
    worker.news.changed('run_a', 'run');
    api.news.follow('run_a');
    expect(await told(api, 1)).toEqual(['run run_a']);
  });

  it('send little for many changes at once', async () => {
    const [api, worker] = [channel.join(), channel.join()];
    const runs = Array.from({ length: 100 }, (_, n) => `run_${n}`);
    for (const run of runs) api.news.follow(run);
    const before = channel.sent.length;
    for (let times = 0; times < 5; times++) for (const run of runs) worker.news.changed(run, 'log');
    await told(api, 100);
    await turn();
    expect(channel.sent.length - before).toBe(1);
  });

  it('say nothing of runs where no other process was heard', async () => {
    const alone = channel.join();
    const { length } = channel.sent;
    alone.news.follow('run_a');
    alone.news.changed('run_a', 'run');
    await turn();
    expect(channel.sent).toHaveLength(length);
  });

  it('are not disturbed by what is no news', async () => {
    const [api, worker] = [channel.join(), channel.join()];
    api.news.follow('run_a');
    channel.send(['n', 'n{}', 'n{"what":"run"}', '{"what":"deltas","from":"x","items":[]}', 'n[1', 'nonsense']);
    worker.news.changed('run_a', 'run');
    expect(await told(api, 1)).toEqual(['run run_a']);
  });
});
