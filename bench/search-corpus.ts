/** Texts in several scripts for the search bench: the same in every run. */

export const RARE_WORD = 'quokka'
/** In about three quarters of the messages that are written in Latin letters. */
export const VERY_COMMON_WORD = 'the'
export const COMMON_WORD = 'server'

const RARE_EVERY = 20_000

const ENGLISH = ['the', 'deploy', 'server', 'please', 'check', 'error', 'log', 'build', 'run']
const CHINESE_WORDS =
  '天气 项目 部署 进度 广西 桂林 漓江 北京 上海 服务 数据 模型 测试 代码 问题 今天 明天 可以 需要 使用 我们 他们 这个 那个 系统 用户 消息 会话 搜索 索引 大别山 人工智能 数据库'.split(
    ' ',
  )
const CHINESE_CHARACTERS =
  '的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带花快条院变联言权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程告江语英基派满式李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委早房音火际则首单据导影失拿网香似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏兴切古'
const JAPANESE =
  '東京タワー スカイツリー 天気 今日 明日 サーバー データ テスト です ます について お願い 確認 機械学習 ありがとう ございます 京都 大阪 カタカナ ひらがな'.split(
    ' ',
  )
const KOREAN =
  '서울타워 서울 날씨 오늘 내일 서버 데이터 테스트 확인 부탁드립니다 프로젝트 감사합니다 부산 메시지 검색'.split(
    ' ',
  )
const THAI = 'สวัสดี ครับ กิน ข้าว อากาศ วันนี้ พรุ่งนี้ เซิร์ฟเวอร์ ข้อมูล ทดสอบ กรุงเทพ ไป มา'.split(' ')
const RUSSIAN = 'привет мир сервер погода сегодня завтра данные проверка ошибка сборка'.split(' ')
const ARABIC = 'مرحبا العالم الطقس اليوم غدا خادم بيانات اختبار خطأ'.split(' ')
const HINDI = 'नमस्ते दुनिया मौसम आज कल सर्वर डेटा परीक्षण त्रुटि'.split(' ')
const EMOJI = ['🚀', '✅', '😀', '👍🏽', '🌕']

export interface BenchMessage {
  readonly role: string
  readonly content: string | null
  readonly toolName: string | null
  readonly toolCalls: string | null
}

export function benchMessage(random: () => number, index: number): BenchMessage {
  const text = sentence(random, index)
  if (index % 25 === 9) return called(random)
  if (index % 25 === 10) {
    return { role: 'tool', content: text, toolName: 'web_search', toolCalls: null }
  }
  const role = index % 2 === 0 ? 'user' : 'assistant'
  return { role, content: text, toolName: null, toolCalls: null }
}

/** As the agent stores a call: everything that is not ASCII is escaped. */
function called(random: () => number): BenchMessage {
  const query = random() < 0.5 ? pick(random, CHINESE_WORDS) : latin(random, 3)
  const call = {
    id: 'call_1',
    function: { name: 'web_search', arguments: JSON.stringify({ query }) },
  }
  const toolCalls = JSON.stringify([call]).replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return { role: 'assistant', content: null, toolName: null, toolCalls }
}

function sentence(random: () => number, index: number): string {
  if (index % RARE_EVERY === 7) return `${latin(random, 12)} ${RARE_WORD} ${latin(random, 8)}`
  switch (index % 20) {
    case 2:
    case 3:
    case 5:
      return chinese(random)
    case 7:
      return many(8, () => pick(random, JAPANESE), '')
    case 11:
      return many(9, () => pick(random, KOREAN), ' ')
    case 13:
      return many(9, () => pick(random, THAI), '')
    case 14:
      return many(12, () => pick(random, RUSSIAN), ' ')
    case 16:
      return many(10, () => pick(random, random() < 0.5 ? ARABIC : HINDI), ' ')
    case 17:
      return `${chinese(random)}word${number(random)}${chinese(random)} ${latin(random, 5)}`
    case 18:
      return `${latin(random, 15)} ${pick(random, EMOJI)}`
    default:
      return latin(random, 25)
  }
}

function chinese(random: () => number): string {
  return many(18, () => {
    const place = Math.floor(random() ** 2 * CHINESE_CHARACTERS.length)
    return random() < 0.12 ? pick(random, CHINESE_WORDS) : (CHINESE_CHARACTERS[place] ?? '')
  })
}

function latin(random: () => number, words: number): string {
  const word = (): string => {
    if (random() >= 0.25) return `word${number(random)}`
    return ENGLISH[Math.floor(random() ** 2 * ENGLISH.length)] ?? ''
  }
  return many(words, word, ' ')
}

const number = (random: () => number): number => Math.floor(random() ** 2 * 30_000)

function pick(random: () => number, list: readonly string[]): string {
  return list[Math.floor(random() ** 2 * list.length)] ?? ''
}

function many(count: number, make: () => string, glue = ''): string {
  return Array.from({ length: count }, make).join(glue)
}
