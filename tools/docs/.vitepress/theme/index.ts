/** The default theme of VitePress with the fonts of the reader's system and a few rules of our own. */
import theme from "vitepress/theme-without-fonts";
import "./style.css";

export default theme;
