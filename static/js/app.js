// The entry module of every page: time zone, theme switch, keys, copy buttons, permalinks, pictures, and the live
// connection where the page names one. Pages work without it; everything here only saves a reload.

import { startCopyButtons } from "./copy.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startPermalinks } from "./permalinks.js";
import { startPictures } from "./pictures.js";
import { startThemeSwitch } from "./theme.js";
import { startView } from "./view.js";
import { startZone } from "./zone.js";

startZone();
startThemeSwitch();
startKeys();
startView();
startCopyButtons();
startPermalinks();
startPictures();
startLive();
