import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { afterAll, describe, expect, it } from 'vitest';
import { datasetFields, featuresOf } from '../../src/core/exports/dataset-field.js';
import { type ExportFormat, exportOptions } from '../../src/core/exports/export.js';
import { type ExportedRun, exportRows, type RowFormat } from '../../src/core/exports/export-row.js';
import type { JsonObject } from '../../src/core/json.js';
import { jsonlFile } from '../../src/datasets/jsonl-file.js';
import { parquetFile } from '../../src/datasets/parquet-file.js';
import { familyOf, goldenLogs } from './golden-runs.js';
import { askDuckdb, byDuckdb, byHyparquet, type Reader, type Row, withNulls } from './read-parquet.js';

/** Files of Parquet, read back by two readers, and compared with the lines of JSON of the same rows. */

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-parquet-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let files = 0;

const READERS: readonly (readonly [string, Reader])[] = [
  ['hyparquet', byHyparquet],
  ['DuckDB', byDuckdb],
];
const options = exportOptions.parse({});

/** The same rows in both encodings. */
async function written(rows: readonly JsonObject[], format: ExportFormat) {
  const fields = datasetFields(format, options);
  const path = join(scratch, `file-${files++}`);
  const [lines, parquet] = [jsonlFile(`${path}.jsonl`), await parquetFile(`${path}.parquet`, fields)];
  await lines.write(rows);
  await parquet.write(rows);
  await lines.end();
  const end = await parquet.end();
  const read = readFileSync(`${path}.jsonl`, 'utf8').trim().split('\n');
  const json: Row[] = read.map((line) => JSON.parse(line));
  return { path: `${path}.parquet`, fields, expected: withNulls(json, fields), end };
}

const worth: ExportedRun['worth'] = {
  ...{ totalReward: 0.5, verificationPassed: true, tags: ['a'], scaffold: 'holdfast' },
  result: { type: 'success', reward: 0.5 },
};
const FORMATS = ['messages', 'prime-rl', 'sharegpt', 'atif', 'jsonl'] as const satisfies RowFormat[];
const goldenRows = (format: RowFormat): JsonObject[] =>
  goldenLogs()
    .flatMap((events) => familyOf(events) ?? [])
    .flatMap((family) => {
      const trajectory = { steps: [{ action: family.conversation.run.id }], reward: null };
      return exportRows(
        { family, task: 'task', worth, scores: { quality: null, diversity: null }, trajectory },
        format,
        options,
      );
    })
    .map(({ columns }) => columns);

const ODD = 'grüße 👩‍👩‍👧 \u0000 \u2028 \uFEFF "\\" \n\t 𝟘';

/** A row with everything in it that a schema, a text or a number can get wrong. */
const oddRow = (change: JsonObject = {}): JsonObject => ({
  messages: [
    { role: 'system', content: ODD },
    { role: 'user', content: '' },
    {
      ...{ role: 'assistant', content: '', reasoning_content: ODD },
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'f', arguments: {} } },
        {
          ...{ id: ODD, type: 'function' },
          function: {
            name: 'g',
            arguments: JSON.parse(
              `{"big":9007199254740991,"bigger":12345678901234567890,"huge":1e300,"tiny":5e-324,"none":null,
                "__proto__":{"x":[]},"list":[[],[null],{}],"text":${JSON.stringify(ODD)},"":false}`,
            ),
          },
        },
      ],
    },
    { role: 'tool', content: ODD, name: 'f', tool_call_id: 'c1' },
    { role: 'assistant', content: 'done', tool_calls: [] },
  ],
  tools: [],
  ...{ id: 'run', run_id: 'run', task: ODD, agent: 'a', agent_version: '', model: '', status: 'completed', result: '' },
  ...{ reward: null, completed_at: '2026-01-01T00:00:00.000Z', head_hash: 'sha256:x', context_messages: 0 },
  ...change,
});

describe.each(READERS)('Parquet, as %s reads it,', (_name, read) => {
  it.each(FORMATS)('has the golden rows of the format %s', async (format) => {
    const { path, fields, expected } = await written(goldenRows(format), format);
    expect(expected.length).toBeGreaterThan(5);
    expect(await read(path, fields)).toStrictEqual(expected);
  });

  it('has texts, numbers, nulls and empty lists as they are', async () => {
    const rows = [
      oddRow(),
      oddRow({ messages: [], reward: -1_000_000, context_messages: Number.MAX_SAFE_INTEGER }),
      oddRow({ messages: [{ role: 'user', content: 'x' }], tools: [{ type: 'function', function: { name: ODD } }] }),
      oddRow({ messages: [], reward: 0.1 }),
    ];
    const { path, fields, expected } = await written(rows, 'messages');
    const found = await read(path, fields);
    expect(found).toStrictEqual(expected);
    expect(JSON.stringify(found)).toContain('__proto__');
  });

  it('has all rows of several row groups in their order', async () => {
    const rows = Array.from({ length: 2300 }, (_, n) => oddRow({ id: `run ${n}`, messages: [], reward: n / 7 }));
    const { path, fields, expected, end } = await written(rows, 'messages');
    expect(end).toMatchObject({ rows: 2300, sizeBytes: statSync(path).size });
    const metadata = await parquetMetadataAsync(await asyncBufferFromFile(path));
    expect(metadata.row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([1000, 1000, 300]);
    expect(await read(path, fields)).toStrictEqual(expected);
  });
});

describe('a file of Parquet', () => {
  const fields = datasetFields('messages', { reasoningKey: 'reasoning_content', media: 'placeholder' });

  it('says what its columns are, to readers of databases and of data sets', async () => {
    const { path } = await written([oddRow()], 'messages');
    const described = await askDuckdb(`describe select * from read_parquet('${path}')`);
    const types = Object.fromEntries(described.map((row) => [row['column_name'], row['column_type']]));
    expect(types).toMatchObject({ tools: 'JSON', task: 'VARCHAR', reward: 'DOUBLE', context_messages: 'BIGINT' });
    expect(types['messages']).toBe(
      'STRUCT("role" VARCHAR, "content" VARCHAR, "name" VARCHAR, tool_call_id VARCHAR, reasoning_content VARCHAR, tool_calls JSON[])[]',
    );
    const { key_value_metadata } = await parquetMetadataAsync(await asyncBufferFromFile(path));
    const told = key_value_metadata?.find(({ key }) => key === 'huggingface')?.value ?? '';
    expect(JSON.parse(told)).toEqual({ info: { features: featuresOf(fields) } });
    expect(JSON.parse(told).info.features).toMatchObject({
      messages: { _type: 'List', feature: { tool_calls: { _type: 'List', feature: { _type: 'Json' } } } },
      tools: { _type: 'Json' },
      reward: { _type: 'Value', dtype: 'float64' },
    });
  });

  it('holds a row group in memory and no more, and has no name until it is whole', async () => {
    const folder = mkdtempSync(join(scratch, 'growing-'));
    const path = join(folder, 'part');
    const file = await parquetFile(path, fields);
    const sizeOnDisk = () => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    await file.write([oddRow()]);
    expect(sizeOnDisk()).toBe(0);
    // Many rows, and then a few with long texts.
    await file.write(Array.from({ length: 1000 }, () => oddRow()));
    const first = sizeOnDisk();
    expect(first).toBeGreaterThan(0);
    await file.write(Array.from({ length: 9 }, (_, n) => oddRow({ task: String(n).repeat(1_000_000) })));
    expect(sizeOnDisk()).toBeGreaterThan(first);
    expect(existsSync(path)).toBe(false);
    await file.abandon();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is the same bytes whenever it is written, and none where there are no rows', async () => {
    const one = await written([oddRow(), oddRow({ id: 'b' })], 'messages');
    const two = await written([oddRow(), oddRow({ id: 'b' })], 'messages');
    expect(one.end?.sha256).toBe(two.end?.sha256);
    const path = join(scratch, 'nothing');
    expect(await (await parquetFile(path, fields)).end()).toBeNull();
    expect(existsSync(path)).toBe(false);
  });

  it('takes no value of another type', async () => {
    for (const change of [
      { reward: '1' },
      { context_messages: 0.5 },
      { messages: 'x' },
      { messages: ['x'] },
      { id: 1 },
    ])
      await expect((await parquetFile(join(scratch, 'wrong'), fields)).write([oddRow(change)])).rejects.toThrow(
        /column/,
      );
  });
});
