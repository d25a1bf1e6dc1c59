/** A whole number, raised only when recorded segments could no longer replay. Newer builds go on with what older ones recorded. */
export const RECORDING_VERSION = 1;
/** What DBOS calls us: segments belong to it. */
export const APPLICATION = 'holdfast';
