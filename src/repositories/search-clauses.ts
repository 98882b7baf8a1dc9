import type { SearchExpression, SearchTerm } from '../schema/search-expression.ts'

export type SearchOperator = 'AND' | 'OR' | 'NOT'

type Group = SearchExpression[]

/**
 * Gathers the operands of one bracket: neighbours bind first, then NOT, AND, OR, as in FTS5. Of
 * operators in a row the last counts; one without a left side none. What a minus excludes is excluded
 * from all; where nothing stands beside it between two ORs, it is wanted.
 */
export class Clauses {
  readonly #alternatives: { every: Group; none: Group[] }[] = []
  readonly #excluded: Group = []
  #minuses: Group = []
  #operator: SearchOperator = 'OR'
  #neighbours: Group | undefined
  #isWanting = false
  #isJoined = false
  #hasVainMinus = false

  operator(operator: SearchOperator): void {
    if (operator === 'OR') this.#endAlternative()
    this.#operator = operator
    this.#neighbours = undefined
  }

  want(operand: SearchExpression): void {
    this.#isWanting = true
    this.#neighbours ??= this.#open()
    this.#neighbours.push(operand)
  }

  exclude(operand: SearchExpression): void {
    this.#minuses.push(operand)
  }

  /** An AND, NOT or minus had something on both sides. */
  get hasLogic(): boolean {
    return this.#isJoined || this.#excluded.length > 0
  }

  /** There was nothing to exclude something from. */
  get hasVainMinus(): boolean {
    return this.#hasVainMinus
  }

  expression(): SearchExpression | undefined {
    this.#endAlternative()
    const wanted = this.#alternatives.map(({ every, none }) =>
      negated(
        joined('and', every),
        none.map((group) => joined('and', group)),
      ),
    )
    return wanted.length === 0 ? undefined : negated(joined('or', wanted), this.#excluded)
  }

  #endAlternative(): void {
    if (this.#isWanting) this.#excluded.push(...this.#minuses)
    else {
      this.#hasVainMinus ||= this.#minuses.length > 0
      for (const operand of this.#minuses) this.want(operand)
    }
    this.#minuses = []
    this.#isWanting = false
  }

  #open(): Group {
    const last = this.#alternatives.at(-1)
    this.#isJoined ||= last !== undefined && this.#operator !== 'OR'
    if (last && this.#operator === 'AND') return last.every
    const group: Group = []
    if (last && this.#operator === 'NOT') last.none.push(group)
    else this.#alternatives.push({ every: group, none: [] })
    return group
  }
}

/** One expression for several, without needless nesting. */
export function joined(kind: 'and' | 'or', parts: readonly SearchExpression[]): SearchExpression {
  const flat = distinct(parts.flatMap((part) => (part.kind === kind ? part.parts : [part])))
  const [first] = flat
  if (first === undefined) throw new Error(`nothing to join by ${kind}`)
  return flat.length === 1 ? first : { kind, parts: flat }
}

function distinct(parts: readonly SearchExpression[]): readonly SearchExpression[] {
  const byTerm = new Map<unknown, SearchExpression>()
  for (const part of parts) byTerm.set(part.kind === 'term' ? keyOfTerm(part) : part, part)
  return [...byTerm.values()]
}

/** Equal for equal terms. */
export function keyOfTerm({ text, isPrefix }: SearchTerm): string {
  return `${isPrefix ? '*' : ' '}${text}`
}

function negated(
  wanted: SearchExpression,
  unwanted: readonly SearchExpression[],
): SearchExpression {
  return unwanted.length === 0 ? wanted : { kind: 'not', wanted, unwanted }
}
