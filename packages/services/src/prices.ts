/** Entry for programs that need prices and bills, without the tables of the services. */
export { compositionType } from "./composition-type.ts";
export { type BillLine, billOf, type Period, type Recorded } from "./prices/bill.ts";
export { exactMoney, hoursOfMonth, shownMoney } from "./prices/money.ts";
export { costOf, monthText, type Price } from "./prices/price.ts";
export {
  monthlyPrice,
  type PlanPrice,
  PriceBook,
  priceListKey,
  priceListName,
  pricesAnnotation,
  readPriceList,
} from "./prices/price-list.ts";
export { priceBookOf, PriceError, pricesIn, pricesOfConfigMap } from "./prices/price-text.ts";
