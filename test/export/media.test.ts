import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, tool } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { datasetFields } from '../../src/core/exports/dataset-field.js';
import { defineAgent, type ExportView, type HoldfastConfig, type StartExport } from '../../src/index.js';
import { describeEachDatabase } from '../harness/database.js';
import { ADMIN, engineFor, restOf } from '../harness/engine.js';
import { call, say, scripted } from '../harness/script.js';
import { SLOW } from '../harness/slow.js';
import { ended, rowsIn } from './exported.js';
import { byDuckdb } from './read-parquet.js';

/** Exports that programs read whose formats are their own: OpenAI's fine-tuning files, logs of Inspect, and data sets with images. */

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SHOWN = `data:image/png;base64,${PIXEL}`;

const photo = tool({
  ...{ name: 'photo', description: 'Takes a photo.', parameters: z.object({ of: z.string() }) },
  execute: ({ of }) => [
    { type: 'text' as const, text: `A photo of ${of}.` },
    { type: 'image' as const, image: { data: PIXEL, mediaType: 'image/png' } },
  ],
});
const dotted = tool({
  ...{ name: 'look_up', description: 'Looks up.', parameters: z.object({}) },
  execute: () => 'nothing',
});
const desk = new Agent({ name: 'desk', instructions: 'You are the desk.', model: scripted([[say('Done.')]]) });

const config: HoldfastConfig = {
  agents: [
    defineAgent({
      agent: Agent.create({
        ...{ name: 'seer', instructions: 'You see.', tools: [photo, dotted], handoffs: [desk] },
        model: scripted([
          [call('photo', { of: 'a cat' }, `photo_${'x'.repeat(50)}`), call('look_up', {}, 'b')],
          [call('transfer_to_desk', {}, 'h')],
        ]),
      }),
      grants: ['tool:call:*'],
    }),
  ],
};

/** A line as the service documents it; it refuses members that it does not know. */
const called = z.strictObject({
  id: z.string().max(40),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/), arguments: z.string() }),
});
const part = z.union([
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('image_url'), image_url: z.strictObject({ url: z.string() }) }),
]);
const openaiLine = z.strictObject({
  messages: z.array(
    z.union([
      z.strictObject({ role: z.enum(['system', 'user']), content: z.union([z.string(), z.array(part)]) }),
      z.strictObject({
        role: z.literal('assistant'),
        content: z.string().optional(),
        tool_calls: z.array(called).min(1).optional(),
        weight: z.literal([0, 1]),
      }),
      z.strictObject({ role: z.literal('tool'), tool_call_id: z.string().max(40), content: z.string() }),
    ]),
  ),
  tools: z
    .array(
      z.strictObject({
        type: z.literal('function'),
        function: z.strictObject({
          name: z.string(),
          description: z.string(),
          parameters: z.record(z.string(), z.json()),
        }),
      }),
    )
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
});

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-media-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describeEachDatabase('an export of runs with images', (kind) => {
  const t = engineFor(kind, { ...config, exportDir: join(scratch, kind) });
  let folders = 0;
  const exported = async (format: StartExport['format'], options: StartExport['options'] = {}): Promise<ExportView> => {
    const view = await t.engine.startExport({ format, options, to: { folder: `folder-${++folders}` } }, ADMIN);
    return ended(t.engine, view);
  };
  const fileOf = ({ folder, files }: ExportView): string =>
    join(folder, files.find(({ split }) => split === 'train')?.path ?? '');

  beforeAll(async () => {
    const content = [
      { type: 'input_text' as const, text: 'What is this?' },
      { type: 'input_image' as const, image: SHOWN },
      { type: 'input_image' as const, image: 'https://example.com/cat.png' },
    ];
    const { id } = await t.engine.startRun({ agent: 'seer', input: [{ role: 'user', content }] }, ADMIN);
    expect((await restOf(t.engine, id)).status).toBe('completed');
  });

  it('for OpenAI has lines that the service takes, with weights of what is trained on', async () => {
    const rows = rowsIn(fileOf(await exported('openai'))).map((row) => openaiLine.parse(row));
    expect(rows).toHaveLength(2);
    for (const { messages } of rows) {
      expect(messages.at(-1)?.role).toBe('assistant');
      // The calls of the last answer are what the line teaches.
      const asked = messages.slice(0, -1).flatMap((one) => (one.role === 'assistant' ? (one.tool_calls ?? []) : []));
      const told = messages.flatMap((one) => (one.role === 'tool' ? [one.tool_call_id] : []));
      expect(asked.map(({ id }) => id).sort()).toEqual(told.sort());
      for (const { function: named } of asked) expect(typeof JSON.parse(named.arguments)).toBe('object');
    }
    const weights = rows.map(({ messages }) => messages.flatMap((one) => ('weight' in one ? [one.weight] : [])));
    expect(weights).toEqual([
      [1, 1],
      [0, 0, 1],
    ]);
    expect(rows[0]?.parallel_tool_calls).toBe(true);
    expect(JSON.stringify(rows[0])).not.toContain(PIXEL);
    expect(rows[0]?.messages[1]).toMatchObject({ content: 'What is this?\n[image]\n[image]' });
    expect(JSON.stringify(rows)).toContain('A photo of a cat.\\n[image]');
  });

  it.runIf(SLOW)('for OpenAI shows the images of people where that is asked for', async () => {
    const [row] = rowsIn(fileOf(await exported('openai', { media: 'inline' }))).map((one) => openaiLine.parse(one));
    expect(row?.messages[1]).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: SHOWN } },
        { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } },
      ],
    });
  });

  it('for Inspect is one document with the samples, their sums and what tools showed', async () => {
    const view = await exported('inspect', { media: 'inline' });
    const path = fileOf(view);
    expect(path.endsWith('.json')).toBe(true);
    const log = JSON.parse(readFileSync(path, 'utf8'));
    expect(log).toMatchObject({
      ...{ version: 2, status: 'success', eval: { dataset: { samples: 2 } } },
      results: { total_samples: 2, completed_samples: 2, scores: [] },
    });
    expect(log.samples).toHaveLength(2);
    const [sample] = log.samples;
    expect(sample.input.map(({ role }: { role: string }) => role)).toEqual(['system', 'user']);
    expect(sample.messages[2].tool_calls[0]).toMatchObject({ function: 'photo', arguments: { of: 'a cat' } });
    expect(sample.messages[3].content).toEqual([
      { type: 'text', text: 'A photo of a cat.' },
      { type: 'image', image: SHOWN },
    ]);
    const card = readFileSync(join(view.folder, 'README.md'), 'utf8');
    expect(card).not.toContain('data_files');
  });

  it.runIf(SLOW)(
    'in Parquet has the images in a column of their own, in the order of the parts that stand for them',
    async () => {
      const view = await exported('messages', { encoding: 'parquet', media: 'inline' });
      const [row] = await byDuckdb(
        fileOf(view),
        datasetFields('messages', { reasoningKey: 'reasoning_content', media: 'inline' }),
      );
      const messages = row?.['messages'] as { content: { type: string; text: string | null }[] }[];
      expect(messages[1]?.content.map(({ type }) => type)).toEqual(['text', 'image', 'image']);
      const places = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'image'));
      const images = row?.['images'] as { bytes: unknown; path: string | null }[];
      expect(images).toHaveLength(places.length);
      expect(images[1]).toMatchObject({ path: 'https://example.com/cat.png' });
      expect(readFileSync(join(view.folder, 'README.md'), 'utf8')).toContain('list: image');
    },
  );

  it('is refused where the format has no place for what is asked for', async () => {
    const refused = { code: 'invalid_request' };
    await expect(exported('sharegpt', { media: 'inline' })).rejects.toMatchObject(refused);
    await expect(exported('messages', { media: 'inline' })).rejects.toMatchObject(refused);
    await expect(exported('openai', { encoding: 'parquet' })).rejects.toMatchObject(refused);
    await expect(exported('inspect', { encoding: 'parquet' })).rejects.toMatchObject(refused);
  });
});
