import { z } from 'zod';
import { isBelow, openRoots } from './bucket-place.js';

/** Places in dataset repositories of a Hugging Face Hub, `hf://datasets/owner/name`, and where a tenant may export to. */

export interface HubPlace {
  /** `owner/name`. */
  readonly repository: string;
  /** A folder in it, without slashes at its ends; empty: the repository itself. */
  readonly folder: string;
}

const SCHEME = 'hf://datasets/';
/** What the Hub takes as a name of an owner or a repository. */
const NAME = '(?![^/]*(?:--|\\.\\.))(?![^/]*(?:\\.git|[.-])(?:/|$))[A-Za-z0-9][\\w.-]{0,95}';
const FOLDER = '[A-Za-z0-9][\\w.-]{0,99}';
const PLACE = new RegExp(`^hf://datasets/(${NAME}/${NAME})((?:/${FOLDER}){0,6})$`);
const TENANT = '\\{tenant\\}';
/** Where exports of tenants may go, as an operator writes it: an owner, a repository, or a folder of one. */
const ROOT = new RegExp(`^hf://datasets/${NAME}(?:/(?:${NAME}|${TENANT})(?:/(?:${FOLDER}|${TENANT})){0,6})?$`);

export const HUB_PLACE_EXPECTED =
  'expected hf://datasets/owner/name, with names that the Hub takes, and folders behind it if wanted';

export const hubPlaceText = z.string().max(500).regex(PLACE, HUB_PLACE_EXPECTED);

export const isHubText = (text: string): boolean => text.startsWith('hf://');

/** Null: it is none. */
export function hubPlaceOf(text: string): HubPlace | null {
  const [, repository, folders] = PLACE.exec(text) ?? [];
  return repository === undefined || folders === undefined ? null : { repository, folder: folders.slice(1) };
}

export const hubPlaceTextOf = ({ repository, folder }: HubPlace): string =>
  [`${SCHEME}${repository}`, ...(folder === '' ? [] : [folder])].join('/');

/** Places with spaces between them; null: one of them is none. */
export function hubRootsOf(text: string): readonly string[] | null {
  const roots = text.trim().split(/\s+/);
  return roots.every((root) => ROOT.test(root)) ? roots : null;
}

/** Where a tenant may export to. The Hub does not tell names apart by their case: such a tenant has no place of its own. */
export const openHubRoots = (roots: readonly string[], tenant: string): readonly string[] =>
  tenant === tenant.toLowerCase() ? openRoots(roots, tenant) : [];

/** An operator who names a repository or a folder opens it, too. */
export const isOpenOnHub = (place: string, roots: readonly string[]): boolean =>
  isBelow(place, roots) || roots.includes(place);

/** The token of the Hub, under the name that every program of the Hub knows. */
export const HUB_KEYS = {
  token: { variable: 'HF_TOKEN', description: 'Token of the Hugging Face Hub that exports are sent to' },
} as const;
