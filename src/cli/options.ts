import { readFileSync } from 'node:fs';
import { type Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { type JsonObject, type JsonValue, jsonObject, jsonValue, NumberTooLarge, parseJson } from '../core/json.js';
import { usdText } from '../core/money.js';
import { PAGE_LIMIT, type Page, type UnreadableItem } from '../core/page.js';
import { plain, print } from './print.js';

export const jsonOption = (): Option => new Option('--json', 'print JSON');
export const json = z.boolean().default(false);

export const whole =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };

export function numberOf(text: string): number {
  if (/^-?\d{1,9}(\.\d{1,9})?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a number, such as 0.5.');
}

/** Adds the options that choose runs by their reward and the scores of their trajectories. */
export const withScoreBounds = (command: Command): Command =>
  command
    .addOption(new Option('--min-reward <n>', 'only runs with this reward or more').argParser(numberOf))
    .addOption(new Option('--max-reward <n>', 'only runs with this reward or less').argParser(numberOf))
    .addOption(new Option('--min-quality <n>', 'only runs with this quality score or more').argParser(numberOf))
    .addOption(new Option('--max-quality <n>', 'only runs with this quality score or less').argParser(numberOf))
    .addOption(new Option('--min-diversity <n>', 'only runs with this diversity score or more').argParser(numberOf))
    .addOption(new Option('--max-diversity <n>', 'only runs with this diversity score or less').argParser(numberOf));

export const limitOption = (): Option =>
  new Option('--limit <n>', `how many at most, 1 to ${PAGE_LIMIT}`).argParser(whole(1, PAGE_LIMIT)).default(50);
export const limit = z.number();

export const cursorOption = (): Option => new Option('--cursor <cursor>', 'where the page before ended');
export const cursor = z.string().optional();

/** Names the rows of a page that cannot be read, and says how the list goes on. A page of large items may end before its limit. */
export function printMore(
  { unreadable, nextCursor }: Omit<Page<unknown>, 'items'>,
  option: '--cursor' | '--after' = '--cursor',
): void {
  printUnreadable(unreadable);
  if (nextCursor !== null) print(`There are more; go on with ${option} ${nextCursor}.`);
}

/** Names rows that cannot be read, which are in no table above. */
export function printUnreadable(rows: readonly UnreadableItem[] = []): void {
  for (const { id, error } of rows) print(plain(`CHANGED  ${id}: ${error.message} (${error.code})`));
}

export const portOption = (): Option =>
  new Option('--port <port>', 'port to listen on; 0 takes a free one').argParser(whole(0, 65_535));

/** Says that a command line is wrong in a way that no single option is. */
export const misuse = (message: string): CommanderError => new CommanderError(2, 'holdfast.misuse', message);

/** An id or a name, which becomes a part of an address: "." and ".." would lead to another one. */
export function idArgument(text: string): string {
  if (!/^\.{0,2}$/.test(text)) return text;
  throw new InvalidArgumentError('Expected an id.');
}

export function timeOption(text: string): string {
  if (z.iso.datetime({ offset: true }).safeParse(text).success) return text;
  throw new InvalidArgumentError('Expected a time, as 2026-01-31T09:30:00Z.');
}

/** The key of a header: what no header carries is refused before anything is sent. */
export function keyOption(text: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(text)) return text;
  throw new InvalidArgumentError('Expected 1 to 255 visible ASCII characters.');
}

/** A text that is not empty. */
export const filled = (text: string): string => {
  if (text !== '') return text;
  throw new InvalidArgumentError('Expected a text.');
};

export const messageOption = (description: string): Option =>
  new Option('-m, --message <text>', description).argParser(filled);
export const message = z.string().optional();

/** A JSON object, or `@` and the name of a file that holds one. */
export function jsonObjectOption(text: string): JsonObject {
  try {
    return jsonObject.parse(parseJson(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text));
  } catch (error) {
    const isSaid = error instanceof Error && ('code' in error || error instanceof NumberTooLarge);
    const why = isSaid ? ` ${error.message}.` : '';
    throw new InvalidArgumentError(`Expected a JSON object, or @ and a file that holds one.${why}`);
  }
}

export function jsonArgument(text: string): JsonValue {
  try {
    return jsonValue.parse(parseJson(text));
  } catch (error) {
    const why = error instanceof NumberTooLarge ? ` ${error.message}.` : '';
    throw new InvalidArgumentError(`Expected JSON; a text is written in double quotes, as in '"yes"'.${why}`);
  }
}

export function usdOption(text: string): string {
  if (usdText.safeParse(text).success) return text;
  throw new InvalidArgumentError('Expected dollars, such as 1.25.');
}
