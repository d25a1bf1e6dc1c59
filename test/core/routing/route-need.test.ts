import { describe, expect, it } from 'vitest';
import { type AskedRequest, needOf, taskTypeIn } from '../../../src/core/routing/route-need.js';

const request = (part: Partial<AskedRequest>): AskedRequest => ({
  ...{ input: 'Hello', tools: [], handoffs: [], outputType: 'text', modelSettings: {} },
  ...part,
});
const capabilities = (part: Partial<AskedRequest>) => needOf(request(part), null, false).capabilities;
const tokens = (part: Partial<AskedRequest>) => needOf(request(part), null, true).inputTokens ?? -1;

const image = { type: 'input_image', image: `data:image/png;base64,${'A'.repeat(4_000_000)}` };

describe('what a request needs', () => {
  it.each([
    ['nothing', {}, []],
    ['tools', { tools: [{ type: 'function' }] }, ['tools']],
    ['tools for a handoff', { handoffs: [{ toolName: 'transfer' }] }, ['tools']],
    ['an output type', { outputType: { type: 'json_schema' } }, ['structured_output']],
    [
      'an image of the user',
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 'See' }, image] }] },
      ['vision'],
    ],
    ['an image of a tool', { input: [{ type: 'function_call_result', output: [image] }] }, ['vision']],
    ['a word of it', { input: [{ role: 'user', content: 'an input_image' }] }, []],
  ])('%s', (_name, part, expected) => {
    expect(capabilities(part)).toEqual(expected);
  });

  it('is about as long as its text, in any script, and an image is not as long as its bytes', () => {
    expect(tokens({ input: 'word '.repeat(4_000) })).toBeGreaterThan(4_000);
    expect(tokens({ input: 'word '.repeat(4_000) })).toBeLessThan(6_000);
    expect(tokens({ input: '世界'.repeat(4_000) })).toBeGreaterThan(5_000);
    expect(tokens({ input: [{ role: 'user', content: [image] }] })).toBeLessThan(2_000);
    expect(tokens({ tools: [{ description: 'x'.repeat(4_000) }] })).toBeGreaterThan(1_000);
    expect(needOf(request({}), null, false).inputTokens).toBeNull();
  });

  it('does not go deeper than it must', () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    expect(tokens({ input: [loop] })).toBeLessThan(100);
    expect(capabilities({ input: [{ content: loop }] })).toEqual([]);
  });

  it('is a task by the agent, else by the run; anything that is no short text is none', () => {
    const providerData = { router: { taskType: 'code' } };
    expect(needOf(request({ modelSettings: { providerData } }), 'prose', false).taskType).toBe('code');
    expect(needOf(request({ modelSettings: { providerData: { router: 'code' } } }), 'prose', false).taskType).toBe(
      'prose',
    );
    expect([taskTypeIn({ taskType: 'code' }), taskTypeIn({}), taskTypeIn({ taskType: 7 })]).toEqual([
      'code',
      null,
      null,
    ]);
    expect(taskTypeIn({ taskType: 'x'.repeat(65) })).toBeNull();
  });
});
