import { Agent, Runner } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { consumeResult } from '../../../src/engine/standalone/run-agent.js';
import { functionModel } from '../../../src/models/providers/function-model.js';
import { textItem } from '../../models/requests.js';

const runner = new Runner({ tracingDisabled: true });
const agent = new Agent({ name: 'Greeter', model: functionModel('m', () => [textItem('Hello.')], { delayMs: 20 }) });

describe('consumeResult', () => {
  it('gives back a plain result', async () => {
    const result = await consumeResult(await runner.run(agent, 'Hi'));
    expect(result.finalOutput).toBe('Hello.');
  });

  it('takes a promise of one', async () => {
    expect((await consumeResult(runner.run(agent, 'Hi'))).finalOutput).toBe('Hello.');
  });

  it('waits for the end of a stream that no one reads', async () => {
    const result = await consumeResult(await runner.run(agent, 'Hi', { stream: true }));
    expect(result.finalOutput).toBe('Hello.');
  });

  it('leaves the events of a stream to its reader', async () => {
    const result = await runner.run(agent, 'Hi', { stream: true });
    await consumeResult(result);
    const deltas: string[] = [];
    for await (const event of result) {
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
        deltas.push(event.data.delta);
    }
    expect(deltas).toEqual(['Hello.']);
  });

  it.each([false, true])('throws what the run threw, streamed: %s', async (stream) => {
    const broken = new Agent({
      name: 'Broken',
      model: functionModel('m', () => {
        throw new Error('no answer today');
      }),
    });
    const run = stream ? runner.run(broken, 'Hi', { stream: true }) : runner.run(broken, 'Hi');
    await expect(run.then((result) => consumeResult(result))).rejects.toThrow('no answer today');
  });

  it('ends when the run is cancelled', async () => {
    const abort = new AbortController();
    const slow = new Agent({ name: 'Slow', model: functionModel('m', () => [textItem('x')], { delayMs: 60_000 }) });
    const result = await runner.run(slow, 'Hi', { stream: true, signal: abort.signal });
    setTimeout(() => abort.abort(), 50);
    await consumeResult(result).catch(() => undefined);
    expect(result.cancelled).toBe(true);
  });
});
