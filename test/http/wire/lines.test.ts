import express from 'express';
import { expect, test } from 'vitest';
import { LINES_TYPE, readLines } from '../../../src/http/wire/lines.js';
import { listening } from '../listening.js';

const LINES = 20;
/** More than one piece of work may keep everything else waiting. */
const WORK_MS = 15;

const workFor = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

test('lines that come in one piece let everything else of the process have its turn between them', async () => {
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  const app = express().post('/', async (request, response) => {
    const lines: number[] = [];
    const signal = new AbortController().signal;
    for await (const { line } of readLines(request, { maxLineBytes: 1000, lineMs: 10_000, signal })) {
      if (lines.length === 0) turn();
      workFor(WORK_MS);
      lines.push(line);
    }
    isOver = true;
    response.json({ lines, turns });
  });
  const server = await listening(app);
  const body = '\n{"wrong": 1}'.repeat(LINES);
  const answer = await fetch(server.url, { method: 'POST', headers: { 'Content-Type': LINES_TYPE }, body });
  const { lines, turns: taken } = (await answer.json()) as { lines: number[]; turns: number };
  expect(lines).toEqual(Array.from({ length: LINES }, (_, n) => n + 2));
  expect(taken).toBeGreaterThanOrEqual(LINES - 1);
  await server.close();
});
