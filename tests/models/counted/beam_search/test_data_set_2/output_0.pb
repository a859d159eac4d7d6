BscoreJ
_r¿*ÖÀAòÀ