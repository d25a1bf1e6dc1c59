import { writeFileSync } from 'node:fs';
import { Argument, Command } from 'commander';
import { z } from 'zod';
import { codeOrText, HoldfastError } from '../../../core/errors/errors.js';
import { consistencyView } from '../../../core/evidence/log-view.js';
import { jsonOrNull } from '../../../core/json.js';
import { checkProof, givenOf, type ProofReport, textOfFile } from '../../../proof/verify.mjs';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption, misuse } from '../../options.js';
import { plain, print, printJson } from '../../print.js';

const options = z.object({
  json,
  out: z.string().optional(),
  payloads: z.boolean().default(true),
  key: z.array(z.string()).default([]),
  checkpoint: z.string().optional(),
  consistency: z.string().optional(),
});
type Options = z.infer<typeof options>;

export const proofCommand = (): Command =>
  new Command('proof')
    .addArgument(new Argument('<what>', 'export a run, or check a file').choices(['export', 'check']))
    .argument('<run>', 'id of a run, or a file that was exported', idArgument)
    .option('--out <file>', 'export: write to a file that is not there yet')
    .option('--no-payloads', 'export: withhold what the events say; order, times and number are still proven')
    .option('--key <key...>', 'check: a public key that you trust, or `@` and a file that holds it')
    .option(
      '--checkpoint <file>',
      'check: another checkpoint of the same log, to see that nothing was changed in between',
    )
    .option('--consistency <file>', 'check: what `GET /api/v1/log/consistency` answers for the sizes of the two')
    .addOption(jsonOption())
    .action(async (what: string, subject: string, raw: unknown) => {
      const asked = options.parse(raw);
      if (what === 'export') await exportTo(subject, asked);
      else check(subject, asked);
    });

async function exportTo(run: string, { out, payloads }: Options): Promise<void> {
  const text = JSON.stringify(await connect().exportProof(run, { payloads: String(payloads) }));
  if (out === undefined) return print(text);
  try {
    writeFileSync(out, `${text}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw misuse(`The file ${out} cannot be made: ${codeOrText(error)}. Name a new file, in a folder that is there.`);
  }
  print(`written to ${out}`);
}

function check(file: string, { json: asJson, key, checkpoint, consistency }: Options): void {
  if (key.length === 0) throw misuse('proof check needs --key: a public key that you have from someone you trust.');
  if (consistency !== undefined && checkpoint === undefined) throw misuse('--consistency goes with --checkpoint.');
  const keys = givenOf(key, read);
  const other = checkpoint === undefined ? null : { note: read(checkpoint), proof: proofIn(consistency) };
  const report = checkProof(read(file), keys, other);
  if (asJson) printJson(report);
  else show(report);
  if (report.ok) return;
  if (asJson) process.exitCode = 1;
  else throw new HoldfastError('proof_invalid', `The proof in ${file} proves nothing: ${report.problem ?? 'unknown'}.`);
}

function show({ proven, notProven }: ProofReport): void {
  for (const line of proven) print(`proven      ${plain(line)}`);
  for (const line of notProven) print(`not proven  ${plain(line)}`);
}

const proofIn = (file: string | undefined): readonly string[] => {
  if (file === undefined) return [];
  const parsed = consistencyView.safeParse(jsonOrNull(read(file)));
  if (!parsed.success) throw misuse(`${file} holds no consistency proof.`);
  return parsed.data.proof;
};

function read(file: string): string {
  try {
    return textOfFile(file);
  } catch (error) {
    throw misuse(`The file ${file} cannot be read: ${codeOrText(error)}.`);
  }
}
