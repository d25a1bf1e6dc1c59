/** SQL of requirements in a key of the queue as JSON; null: none. */
export const requiredSql = (requires: string): string => `cast(nullif(${requires}, '') as jsonb)`;

/** SQL of a number in JSON; 0 where it is missing. */
export const numberSql = (json: string, name: 'cpuCores' | 'memoryMb'): string =>
  `coalesce(cast(${json} ->> '${name}' as float8), 0)`;

interface Used {
  readonly cpuCores: string;
  readonly memoryMb: string;
}

/** SQL of whether a worker has what a run requires, besides what runs at work there require. `offer` and `required` are JSON. */
export const fitsSql = (offer: string, required: string, used: Used): string => `
  (${required} is null or coalesce(${offer}, '{}') @> (${required} - 'cpuCores' - 'memoryMb')
    and ${(['cpuCores', 'memoryMb'] as const)
      .map(
        (name) => `(not jsonb_exists(${required}, '${name}')
     or ${numberSql(required, name)} <= ${numberSql(offer, name)} - ${used[name]})`,
      )
      .join(' and ')})`;
