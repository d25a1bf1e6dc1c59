import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SHELVES } from '../../test/shelves.js';
import { PACKAGES, ROOMS } from '../architecture/rooms.js';
import { IMPORTS, ROOT, roomOf, SOURCES, shelfOf } from '../architecture/sources.js';
import { code, table } from './markdown.js';

const folderOf = (path: string): string =>
  path
    .split('/')
    .slice(0, path.startsWith('src/') ? 2 : 1)
    .join('/');

function assertSame(what: string, real: Iterable<string>, described: Iterable<string>): void {
  const [are, said] = [new Set(real), new Set(described)];
  const wrong = [...are].filter((one) => !said.has(one)).concat([...said].filter((one) => !are.has(one)));
  if (wrong.length > 0)
    throw new Error(`scripts/architecture/rooms.ts and the code differ in the ${what} ${wrong.join(', ')}.`);
}

/** Throws where a room has no description, or a description no room. */
const roomsBlock = (): string => {
  const real = SOURCES.map(folderOf).filter((folder) => !folder.endsWith('.ts'));
  assertSame(
    'rooms',
    real,
    ROOMS.map(({ path }) => path),
  );
  return table(
    ['Room', 'Floor', 'What is in it'],
    ROOMS.map(({ path, floor, about }) => [code(path), String(floor), about]),
  );
};

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** The rooms that import each package at run time. Throws where a package of package.json has no description. */
const packagesBlock = (): string => {
  const { dependencies, peerDependencies }: Record<string, object> = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  );
  assertSame('packages', Object.keys({ ...dependencies, ...peerDependencies }), Object.keys(PACKAGES));
  const homes = (name: string): string[] => [
    ...new Set(
      IMPORTS.filter(({ to, typeOnly }) => !typeOnly && packageOf(to) === name).map(({ from }) => roomOf(from)),
    ),
  ];
  return table(
    ['Package', 'Rooms', 'For'],
    Object.entries(PACKAGES).map(([name, about]) => [code(name), homes(name).toSorted().join(', '), about]),
  );
};

/** The shelves in their order, with the rooms that have one. */
const shelvesBlock = (): string =>
  table(
    ['Shelf', 'Folders'],
    SHELVES.map((shelf) => [
      code(shelf),
      [...new Set(SOURCES.filter((path) => shelfOf(path) === shelf).map(folderOf))].toSorted().join(', '),
    ]),
  );

export const ARCHITECTURE_BLOCKS = { rooms: roomsBlock, packages: packagesBlock, shelves: shelvesBlock };
