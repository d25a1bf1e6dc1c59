import type { Knex } from 'knex';
import { planSearch, RARE_DOCUMENTS } from '../../core/memory/search-plan.js';
import { LIVING, type MemoryPlace } from './documents.js';

export interface Search {
  readonly query: string;
  readonly match: 'all' | 'any';
  readonly limit: number;
}

/** Of a query whose words are all common, so many documents are looked at: those that were changed last. */
const LOOKED_AT = 10_000;
/** Of these, so many matches are ranked. */
const RANKED = 500;
/** So many bytes of their words are looked at, as the database keeps them. */
const LOOKED_AT_BYTES = 8_388_608;
/** Words of a query that are counted: the longest, which are rare more often. */
const COUNTED = 6;

/** A word in so many of the latest documents is common. */
const LATEST = 400;
const COMMON_AMONG_LATEST = 12;

const LITERAL = `'''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || ''''`;
const QUERIES: { readonly [match in Search['match']]: string } = {
  all: "websearch_to_tsquery('simple', :query)",
  any: `(select string_agg(${LITERAL}, ' | ') from unnest(to_tsvector('simple', :query)))::tsquery`,
};

interface Asked {
  readonly asked: string;
  readonly words: readonly { readonly word: string; readonly documents: number }[];
}

const PLACE = `d.tenant = :tenant and d.space = :space and d.owner = :owner and ${LIVING}`;
const OF_PLACE = "array_to_string(array[md5(:tenant || '/' || :space || '/' || :owner)], '')::tsquery";
const COUNTED_WORD = `(${LITERAL.replaceAll('lexeme', 'w.lexeme')})::tsquery`;
/**
 * In how many documents a word is, up to a bound. One that is in many of the latest is common: that is soon known. The index has to read
 * the whole list of a word to count any of it.
 */
const DOCUMENTS_OF = `case when (select count(*) from latest where latest.search @@ ${COUNTED_WORD}) >= ${COMMON_AMONG_LATEST}
    then ${RARE_DOCUMENTS + 1}
    else (select count(*)::int from (select 1 from holdfast.memory_documents d where d.search @@ ${COUNTED_WORD}
           limit ${RARE_DOCUMENTS + 1}) x) end`;
const ASKED = (match: Search['match']): string => `with latest as materialized (
      select d.search from holdfast.memory_documents d where ${PLACE} order by d.changed_at desc, d.key limit ${LATEST})
  select (${QUERIES[match]})::text as asked, coalesce((
    select json_agg(json_build_object('word', w.lexeme, 'documents', ${DOCUMENTS_OF})) from (
      select lexeme from unnest(to_tsvector('simple', :query)) order by length(lexeme) desc, lexeme limit ${COUNTED}) w),
    '[]'::json) as words`;

/** The query as the database reads it, and in how many documents its words are. */
async function askedOf(db: Knex, place: MemoryPlace, { query, match }: Search): Promise<Asked> {
  const { tenant, space, owner } = place;
  const { rows }: { rows: { asked: string | null; words: Asked['words'] }[] } = await db.raw(ASKED(match), {
    ...{ tenant, space, owner, query },
  });
  const [row] = rows;
  return { asked: row?.asked ?? '', words: row?.words ?? [] };
}

/** All documents that have what is rare in the query. */
const BY_WORDS = `select d.key from holdfast.memory_documents d where d.search @@ (:rare::tsquery && ${OF_PLACE}) and ${PLACE}`;
/**
 * Matches among the documents that were changed last: `looked` has one document more than are looked at, and `latest` one match more
 * than is ranked, so that it is known whether there are older ones.
 */
const LOOKED = `looked as materialized (
    select d.key, d.search @@ :asked::tsquery as fits, row_number() over (order by d.changed_at desc, d.key) as n,
           sum(pg_column_size(d.search)) over (order by d.changed_at desc, d.key rows unbounded preceding) as bytes
      from holdfast.memory_documents d where ${PLACE} order by d.changed_at desc, d.key limit ${LOOKED_AT + 1}),
  latest as materialized (
    select key, n from looked where n <= ${LOOKED_AT} and bytes <= ${LOOKED_AT_BYTES} and fits order by n limit ${RANKED + 1})`;
const BY_TIME = `select key from (select * from latest order by n limit ${RANKED}) ranked`;
const OLDER_LEFT = `(select count(*) > ${LOOKED_AT} or max(bytes) > ${LOOKED_AT_BYTES} from looked)
  or (select count(*) > ${RANKED} from latest)`;

/** Keys in the order of an answer. `olderLeft`: older documents may have the words, and were not looked at. */
export interface FoundKeys {
  readonly keys: readonly string[];
  readonly olderLeft: boolean;
}

/**
 * Keys of the documents of a part of a space with these words, the best first: by cover density, then the one that was changed last, then the lesser
 * key. Where all words are common, only the documents that were changed last are looked at, so that each search ends soon.
 */
export async function searchKeys(db: Knex, { tenant, space, owner }: MemoryPlace, search: Search): Promise<FoundKeys> {
  const { asked, words } = await askedOf(db, { tenant, space, owner }, search);
  if (asked === '') return { keys: [], olderLeft: false };
  const rare = words.filter(({ documents }) => documents <= RARE_DOCUMENTS);
  const plan = planSearch(asked, new Map(rare.map(({ word, documents }) => [word, documents])));
  const found = [...(plan.rare === null ? [] : [BY_WORDS]), ...(plan.isWhole ? [] : [BY_TIME])].join(' union all ');
  const { rows }: { rows: { key: string | null; older: boolean | null }[] } = await db.raw(
    `${plan.isWhole ? '' : `with ${LOOKED}`}
     select o.older, r.key from (select ${plan.isWhole ? 'false' : OLDER_LEFT} as older) o left join (
       select d.key, ts_rank_cd(d.search, :asked::tsquery) as rank, d.changed_at
         from (select distinct key from (${found}) m) f
         join holdfast.memory_documents d on d.key = f.key and ${PLACE}
        order by rank desc, d.changed_at desc, d.key limit :limit) r on true
      order by r.rank desc, r.changed_at desc, r.key`,
    { tenant, space, owner, asked, limit: search.limit, ...(plan.rare === null ? {} : { rare: plan.rare }) },
  );
  const keys = rows.flatMap(({ key }) => (key === null ? [] : [key]));
  return { keys, olderLeft: rows[0]?.older ?? false };
}
