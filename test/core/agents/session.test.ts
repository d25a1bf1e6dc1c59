import { describe, expect, it } from 'vitest';
import { itemsOfInput, keptItems, shownHistory } from '../../../src/core/agents/session.js';

const user = (content: string) => ({ type: 'message', role: 'user', content });
const call = (callId: string) => ({ type: 'function_call', callId, name: 'look', arguments: '{}' });
const result = (callId: string) => ({ type: 'function_call_result', callId, output: 'seen' });
const reasoning = (id: string) => ({ type: 'reasoning', id, content: [] });

describe('what of a session a model is shown', () => {
  it('is everything, where calls have results', () => {
    const items = [user('a'), reasoning('r1'), call('c1'), call('c2'), result('c2'), result('c1'), user('b')];
    expect(shownHistory(items)).toEqual(items);
    expect(shownHistory([])).toEqual([]);
  });

  it('is no call without a result, nor the reasoning that led to it', () => {
    const items = [user('a'), reasoning('r1'), reasoning('r2'), call('c1'), user('b'), reasoning('r3'), call('c2')];
    expect(shownHistory([...items, result('c2')])).toEqual([
      user('a'),
      user('b'),
      reasoning('r3'),
      call('c2'),
      result('c2'),
    ]);
    expect(shownHistory([{ type: 'shell_call', callId: 's1' }, result('s1')])).toEqual([result('s1')]);
  });

  it('begins with the latest compaction', () => {
    const compaction = (content: string) => ({ type: 'compaction', encrypted_content: content });
    expect(shownHistory([user('a'), compaction('1'), user('b'), compaction('2'), user('c')])).toEqual([
      compaction('2'),
      user('c'),
    ]);
  });
});

it('a text is a message of the user, items stay as they are', () => {
  expect(itemsOfInput('hello')).toEqual([user('hello')]);
  expect(itemsOfInput([user('a'), call('c')])).toEqual([user('a'), call('c')]);
});

it('ids of one answer are not kept, ids of calls and other items are', () => {
  const items = [{ ...call('c'), id: 'fc_1' }, { ...result('c'), id: 'fo_1' }, reasoning('r')];
  expect(keptItems(items)).toEqual([call('c'), result('c'), reasoning('r')]);
});
