import stringWidth from 'string-width'

import { fit } from './text.ts'

export interface Column {
  readonly head: string
  readonly align?: 'right'
  /** The column that gives way when a row is wider than the terminal. */
  readonly gives?: true
}

const GAP = '  '
const NARROWEST = 12

/** Lines of a table; cells must be harmless one-line texts. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const heads = columns.map(({ head }) => head)
  const widths = columns.map((_, index) =>
    Math.max(...[heads, ...rows].map((row) => stringWidth(row[index] ?? ''))),
  )
  const giving = columns.findIndex((column) => column.gives)
  const total = widths.reduce((sum, each) => sum + each, GAP.length * (columns.length - 1))
  const own = widths[giving]
  if (own !== undefined && total > width) {
    widths[giving] = Math.min(own, Math.max(NARROWEST, own - (total - width)))
  }
  return [heads, ...rows].map((row) =>
    columns
      .map(({ align }, index) => pad(row[index] ?? '', widths[index] ?? 0, align))
      .join(GAP)
      .trimEnd(),
  )
}

function pad(text: string, width: number, align: Column['align']): string {
  const fitted = fit(text, width)
  const blanks = ' '.repeat(Math.max(0, width - stringWidth(fitted)))
  return align === 'right' ? blanks + fitted : fitted + blanks
}
