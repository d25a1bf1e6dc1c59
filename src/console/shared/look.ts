/** Light or dark, as this browser keeps it. */

const STORED = 'holdfast-look';
export const LOOKS = ['system', 'light', 'dark'] as const;
export type Look = (typeof LOOKS)[number];

export function storedLook(): Look {
  const stored = localStorage.getItem(STORED);
  return LOOKS.find((look) => look === stored) ?? 'system';
}

/** Draws in these colours, now and when the page is opened again. */
export function applyLook(look: Look): void {
  localStorage.setItem(STORED, look);
  document.documentElement.style.colorScheme = look === 'system' ? '' : look;
}
