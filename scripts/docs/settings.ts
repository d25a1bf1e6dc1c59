import { SETTINGS } from '../../src/config.js';
import { code, table } from './markdown.js';

export const settingsBlock = (): string =>
  table(
    ['Setting', 'Default', 'Meaning'],
    SETTINGS.map(({ name, default: fallback, description }) => [
      code(name),
      fallback === null || fallback === undefined ? '' : code(fallback),
      description,
    ]),
  );
