import { randomBytes } from 'node:crypto';
import { Argument, Command } from 'commander';
import { z } from 'zod';
import { json, jsonOption, misuse } from '../../options.js';
import { print, printJson } from '../../print.js';

const size = z
  .string()
  .regex(/^(0|[1-9]\d{0,14})$/, 'expected a number of entries')
  .transform(Number);
const options = z.object({ json, name: z.string().optional(), key: z.string().optional(), size: size.optional() });

export const signingKeyCommand = (): Command =>
  new Command('signing-key')
    .addArgument(
      new Argument(
        '<what>',
        'make one if there is none; rotate: put a new one in its place; revoke: believe an earlier one no further',
      ).choices(['make', 'rotate', 'revoke']),
    )
    .argument('<file>', 'file of the key; its public keys stand beside it, in <file>.pub')
    .option('--name <name>', 'make: name of the log in checkpoints; without one `holdfast/` and a random number')
    .option('--size <entries>', 'rotate, revoke: up to how many entries of the log the earlier key is believed')
    .option('--key <key>', 'revoke: the public key of the earlier one')
    .addOption(jsonOption())
    .action(async (what: string, file: string, raw: unknown) => {
      const parsed = options.safeParse(raw);
      if (!parsed.success) throw misuse('--size: expected a number of entries, as `holdfast checkpoint` prints it.');
      const { json: asJson, name = `holdfast/${randomBytes(8).toString('hex')}`, key, size: entries } = parsed.data;
      // Loaded when needed: the other commands start without it.
      const { makeLogKey, revokeLogKey, rotateLogKey } = await import('../../../engine/evidence/log-keys.js');
      const until = (): number => {
        if (entries !== undefined) return entries;
        throw misuse(
          `signing-key ${what} needs --size: up to how many entries of the log the earlier key is believed. \`holdfast checkpoint\` prints how many there are.`,
        );
      };
      const revoked = (): string => {
        if (key !== undefined) return key;
        throw misuse(
          `signing-key revoke needs --key: the public key that is revoked. Those of the file stand in ${file}.pub.`,
        );
      };
      const { text } =
        what === 'make'
          ? makeLogKey(file, name)
          : what === 'rotate'
            ? await rotateLogKey(file, until())
            : revokeLogKey(file, revoked(), until());
      if (asJson) printJson({ publicKey: text });
      else print(text);
    });
