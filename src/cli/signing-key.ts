import { randomBytes } from 'node:crypto';
import { Argument, Command } from 'commander';
import { z } from 'zod';
import { json, jsonOption } from './options.js';
import { print, printJson } from './print.js';

const options = z.object({ json, name: z.string().optional() });

export const signingKeyCommand = (): Command =>
  new Command('signing-key')
    .description('Make or replace the key that signs checkpoints of the log, in a file, and print its public key.')
    .addArgument(
      new Argument('<what>', 'make one if there is none, or rotate: put a new one in its place').choices([
        'make',
        'rotate',
      ]),
    )
    .argument('<file>', 'file of the key; its public keys stand beside it, in <file>.pub')
    .option('--name <name>', 'make: name of the log in checkpoints; without one: holdfast/ and a random number')
    .addOption(jsonOption())
    .action(async (what: string, file: string, raw: unknown) => {
      const { json: asJson, name = `holdfast/${randomBytes(8).toString('hex')}` } = options.parse(raw);
      // Loaded when needed: the other commands start without it.
      const { makeLogKey, rotateLogKey } = await import('../engine/log-keys.js');
      const { text } = what === 'make' ? makeLogKey(file, name) : rotateLogKey(file);
      if (asJson) printJson({ publicKey: text });
      else print(text);
    });
