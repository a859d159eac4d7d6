BtotalJ
_r¿*ÖÀAòÀ