import { describe, expect, it } from 'vitest';
import { isWoken, wakeText } from '../../../src/core/queue/dispatch.js';

describe('A worker that hears that something was put into the queue', () => {
  const chances = Array.from({ length: 1000 }, (_, n) => n / 1000);
  const woken = (text: string, others: number) =>
    chances.filter((chance) => isWoken(text, 'me', others, chance)).length;

  it('looks at once among few, whatever the chance', () => {
    for (const others of [0, 1, 16]) expect(woken(wakeText('other', 1), others)).toBe(1000);
  });

  it('looks at once with a chance among many: about sixteen for each segment', () => {
    expect(woken(wakeText('other', 1), 100)).toBe(160);
    expect(woken(wakeText('other', 3), 100)).toBe(480);
    expect(woken(wakeText('other', 1), 1000)).toBe(16);
    expect(woken(wakeText('other', 7), 100)).toBe(1000);
  });

  it('always looks where no number is said, and never when it was this process', () => {
    expect(woken('limits', 1000)).toBe(1000);
    expect(woken('an older process', 1000)).toBe(1000);
    expect(woken(wakeText('me', 5), 0)).toBe(0);
    expect(woken('me', 0)).toBe(0);
  });
});
