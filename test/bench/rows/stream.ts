import { join } from 'node:path';
import { chunkServer } from '../chunk-server.js';
import { newPlace, type Place } from '../place.js';
import { type Started, startProcess } from '../process.js';
import type { Row } from '../row.js';
import { atShare } from '../shares.js';
import { followRun } from '../stream-client.js';

const CHILD = join(import.meta.dirname, '..', 'stream-child.js');

const start = (place: Place, modelUrl: string, role: string, runs = 0): Started =>
  startProcess(['--expose-gc', CHILD, JSON.stringify({ place, modelUrl, role, runs })]);

/** Chunks of one answer, as fast as they are taken: from the start of the run to the end of its event stream. */
const LONG: Row = {
  name: 'stream-10000',
  title: 'a streamed answer of 10,000 chunks to its client, against one of 1,000: time and memory',
  needsPostgres: false,
  sides: ['10000', '1000'],
  measure: async (side) => {
    const server = await chunkServer(Number(side), 0, 0);
    const child = start(await newPlace('pglite'), server.url, 'all', 2);
    try {
      await child.line();
      // The first one warms up.
      await child.line();
      const { ms, mb } = (await child.line()) as { readonly ms: number; readonly mb: number };
      return { time: { value: ms, unit: 'ms' }, memory: { value: Math.max(mb, 0.1), unit: 'MB' } };
    } finally {
      await child.kill();
      await server.close();
    }
  },
};

/** From the moment at which the provider writes a chunk to that at which the client has it. */
const LATENCY: Row = {
  name: 'stream-latency',
  title: 'chunk of the provider to client of the event stream, worker and API in two processes, against one',
  needsPostgres: true,
  sides: ['two processes', 'one process'],
  measure: async (side, scale) => {
    const place = await newPlace('postgres');
    const server = await chunkServer(scale === 'quick' ? 300 : 1_000, 7, 1_000);
    const roles = side === 'one process' ? ['all'] : ['api', 'worker'];
    const children: Started[] = [];
    try {
      const urls: string[] = [];
      for (const role of roles) {
        const child = start(place, server.url, role);
        children.push(child);
        // One after the other: the first makes the tables.
        urls.push(String(await child.line()));
      }
      const taken: number[] = [];
      await followRun(urls[0] ?? '', (text) => {
        const now = performance.timeOrigin + performance.now();
        for (const stamp of text.split(';').slice(0, -1)) taken.push(now - Number(stamp));
      });
      const sorted = taken.toSorted((a, b) => a - b);
      return {
        p50: { value: atShare(sorted, 0.5), unit: 'ms' },
        p95: { value: atShare(sorted, 0.95), unit: 'ms' },
      };
    } finally {
      for (const child of children) await child.kill();
      await server.close();
    }
  },
};

export const STREAM_ROWS: readonly Row[] = [LONG, LATENCY];
