import { afterEach, describe, expect, it } from 'vitest';
import { failureText } from '../../src/models/failures/failure-text.js';
import { knowSecret } from '../../src/models/secrets/known-secrets.js';
import { editText } from '../../src/tools/aider/edit-text.js';
import { boundedLines } from '../../src/tools/define/bounded-lines.js';
import { closeServers, serve, toolFor } from './http-server.js';
import { callTool, contextWith } from './tool-context.js';

/** Texts that are cut amid a secret: nothing of it is left at their end. */

const SECRET = 'Hq39vLw7TzKc50BnXe82';
knowSecret(SECRET);
const MOST = 2000;
/** Filling, and so much of the secret within the bound. */
const filledTo = (most: number, kept: number): string => `${'- '.repeat(most).slice(0, most - kept)}${SECRET} and more`;
const partIn = (text: string): string => {
  for (let length = SECRET.length; length > 1; length--)
    if (text.includes(SECRET.slice(0, length))) return SECRET.slice(0, length);
  return '';
};

afterEach(closeServers);

describe.each([2, 8, SECRET.length - 1])('%i characters of a secret before a cut', (kept) => {
  it('are in no answer of a server', async () => {
    const { port } = await serve((_request, response) => response.end(filledTo(MOST, kept)));
    const tool = toolFor([port], { maxResponseBytes: MOST });
    const args = { method: 'get', url: `http://127.0.0.1:${port}/`, headers: [] };
    const answer = await callTool(tool, args, contextWith(['network:http:*']));
    expect(answer).toMatchObject({ truncated: true });
    expect(partIn(JSON.stringify(answer))).toBe('');
  });

  it('are in no line that a program writes, in one piece or in several', () => {
    const lines: string[] = [];
    const [whole, inPieces] = [boundedLines((line) => lines.push(line)), boundedLines((line) => lines.push(line))];
    whole(`${filledTo(MOST, kept)}\n`);
    for (const piece of filledTo(MOST, kept).match(/.{1,7}/gs) ?? []) inPieces(piece);
    inPieces('\n');
    expect(lines.map((line) => line.length > MOST - 2 * SECRET.length)).toEqual([true, true]);
    expect(lines.map(partIn)).toEqual(['', '']);
  });

  it('are in no line of a file that an error quotes', () => {
    const line = filledTo(500, kept);
    const edit = { kind: 'block', search: `a\n${line.slice(0, 400)} x\n`, replace: 'b\n' } as const;
    const edited = editText('a.txt', `a\n${line}\n`, edit, { left: 1_000_000 });
    expect(edited).toMatchObject({ type: 'failed', why: expect.stringContaining('- - -') });
    expect(partIn(JSON.stringify(edited))).toBe('');
  });

  it('are in no failure of a server of a model', () => {
    const page = `<html><body>${'<i></i>'.repeat(9000)}`;
    expect(partIn(failureText(page + filledTo(64 * 1024 - page.length, kept).replaceAll('- ', '  ')))).toBe('');
  });
});

it('a text that is not cut ends with what may be the beginning of a secret', () => {
  const lines: string[] = [];
  boundedLines((line) => lines.push(line))(`the first letters are Hq39\n${'x'.repeat(MOST)}\n`);
  expect(lines).toEqual(['the first letters are Hq39', 'x'.repeat(MOST)]);
});
