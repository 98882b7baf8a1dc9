/** What a search query asks for. It is plain data, so that it can travel to another thread. */
export type SearchExpression =
  | SearchTerm
  | { readonly kind: 'and' | 'or'; readonly parts: readonly SearchExpression[] }
  | {
      readonly kind: 'not'
      readonly wanted: SearchExpression
      readonly unwanted: readonly SearchExpression[]
    }
  /** All terms, with at most `distance` words between the first and the last. */
  | { readonly kind: 'near'; readonly terms: readonly SearchTerm[]; readonly distance: number }

/** Words or other text that must stand together. */
export interface SearchTerm {
  readonly kind: 'term'
  readonly text: string
  /** The last word may go on. */
  readonly isPrefix: boolean
}

/** Every term a hit may show, those that must not occur left out. */
export function wantedTerms(expression: SearchExpression): readonly SearchTerm[] {
  switch (expression.kind) {
    case 'term':
      return [expression]
    case 'near':
      return expression.terms
    case 'not':
      return wantedTerms(expression.wanted)
    default:
      return expression.parts.flatMap(wantedTerms)
  }
}
