import { spawn } from 'node:child_process';
import { Command } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { json, jsonOption } from '../../options.js';
import { print, printJson } from '../../print.js';

const options = z.object({ json, open: z.boolean().default(true) });

export const consoleCommand = (): Command =>
  new Command('console')
    .option('--no-open', 'print the address, and open nothing')
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const asked = options.parse(raw);
      const client = connect();
      const { code, expiresAt } = await client.createSignInCode();
      // What stands behind # reaches no server and no log.
      const address = `${client.url}/login#code=${code}`;
      if (asked.json) return printJson({ url: address, expiresAt });
      print(address);
      print('It signs one browser in, once, within a minute.');
      if (asked.open && process.stdout.isTTY) open(address);
    });

const OPENERS: { readonly [platform: string]: readonly [command: string, ...args: string[]] } = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Asks the desktop to show an address. Where there is none, the printed address is enough. */
function open(address: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const opener = spawn(command, [...args, address], { stdio: 'ignore', detached: true });
  opener.on('error', () => {});
  opener.unref();
}
